"""The tests of scikit-learn's svm module that do not apply here, each with its reason."""

LIBLINEAR = "tests LinearSVC, LinearSVR or l1_min_c, which stay scikit-learn's own"
LIBSVM_API = "calls scikit-learn's private LIBSVM binding, which has no counterpart"

# The name of a test function, with everything it is parametrised over.
DESELECTED = {
    "test_libsvm_iris": LIBSVM_API,
    "test_linearsvr": LIBLINEAR,
    "test_linearsvr_fit_sampleweight": LIBLINEAR,
    "test_linearsvc": LIBLINEAR,
    "test_linearsvc_parameters": LIBLINEAR,
    "test_linearsvc_crammer_singer": LIBLINEAR,
    "test_linearsvc_fit_sampleweight": LIBLINEAR,
    "test_linearsvc_iris": LIBLINEAR,
    "test_linearsvc_verbose": LIBLINEAR,
    "test_linearsvm_liblinear_sample_weight": LIBLINEAR,
    "test_crammer_singer_binary": LIBLINEAR,
    "test_dense_liblinear_intercept_handling": LIBLINEAR,
    "test_sparse_liblinear_intercept_handling": LIBLINEAR,
    "test_liblinear_set_coef": LIBLINEAR,
    "test_linear_svm_convergence_warnings": LIBLINEAR,
    "test_lsvc_intercept_scaling_zero": LIBLINEAR,
    "test_dual_auto": LIBLINEAR,
    "test_dual_auto_edge_cases": LIBLINEAR,
}
