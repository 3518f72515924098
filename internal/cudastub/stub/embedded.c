/* Texts that every copy of NVIDIA's runtime has (seen in libcudart_static.a 11.8):
 * the names of its errors, and the driver that it loads. */
__attribute__((used)) const char *const embedded_error_name = "cudaErrorMissingConfiguration";
__attribute__((used)) const char *const embedded_driver_name = "libcuda.so.1";
