/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The real cuBLASLt is not a library that programs are linked with: it is loaded, or a fault says
 * why not. Needs no GPU.
 *
 *     test_cublaslt [PART]
 *
 * With PART, loading fails, and PART is in the fault. */
#include "runtime/cuda/cublaslt.h"
#include "tests/unit/support.h"

#include <dlfcn.h>
#include <string.h>

static const char *part;

START_TEST(is_loaded_when_asked)
{
    MwFault fault = {{0}};
    ck_assert_msg(!dlsym(RTLD_DEFAULT, "cublasLtCreate"), "it is there before");
    ck_assert_msg(mw_cublaslt_load(&fault), "%s", fault.text);
    ck_assert_str_eq(mw_cublaslt.cublasLtGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED),
                     "CUBLAS_STATUS_NOT_SUPPORTED");
    ck_assert(mw_cublaslt_load(&fault));
}
END_TEST

START_TEST(says_why_it_is_not)
{
    MwFault first = {{0}}, second = {{0}};
    ck_assert(!mw_cublaslt_load(&first));
    ck_assert_msg(strncmp(first.text, "cuBLASLt: ", 10) == 0 && strstr(first.text, part), "%s",
                  first.text);
    ck_assert(!mw_cublaslt_load(&second));
    ck_assert_str_eq(first.text, second.text);
}
END_TEST

int main(int argc, char **argv)
{
    part = argc > 1 ? argv[1] : NULL;
    Suite *suite = suite_create("cublaslt");
    TCase *tcase = tcase_create("loading");
    if (part)
        tcase_add_test(tcase, says_why_it_is_not);
    else
        tcase_add_test(tcase, is_loaded_when_asked);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
