/* A program compiled by nvcc carries its device code in this section. */
__attribute__((used, section(".nv_fatbin"))) static const unsigned embedded_device_code[] = {0xba55ed50, 0x00100001, 0, 0};
