// Base64 encoding, three bytes a thread with a padded end, and decoding of the result's letters back.
__constant__ char alphabet[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

__device__ __forceinline__ int value_of(unsigned char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

extern "C" __global__ void base64(const unsigned char *in, unsigned length, uchar4 *text, const uchar4 *coded,
                                  unsigned groups, unsigned *decoded) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (3 * i < length) {
        unsigned left = length - 3 * i;
        unsigned bits = in[3 * i] << 16 | (left > 1 ? in[3 * i + 1] << 8 : 0) | (left > 2 ? in[3 * i + 2] : 0);
        uchar4 out;
        out.x = alphabet[bits >> 18];
        out.y = alphabet[bits >> 12 & 63];
        out.z = left > 1 ? alphabet[bits >> 6 & 63] : '=';
        out.w = left > 2 ? alphabet[bits & 63] : '=';
        text[i] = out;
    }
    if (i < groups) {
        uchar4 c = coded[i];
        int a = value_of(c.x), b = value_of(c.y), d = value_of(c.z), e = value_of(c.w);
        decoded[i] = (a | b | d | e) < 0 ? 0xffffffff : a << 18 | b << 12 | d << 6 | e;
    }
}
