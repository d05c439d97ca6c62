/* A bit of everything that compilers like: loops, recursion, branches, calls, structures. Prints a checksum. */
#include <stdio.h>
#include <stdlib.h>

enum { N = 32, WORDS = 1500, BYTES = 6000 };

static int a[N][N], b[N][N], c[N][N];
static unsigned words[WORDS];
static unsigned char bytes[BYTES];

static unsigned state = 12345;
static unsigned draw(void) { return state = state * 1103515245u + 12345u; }

static void multiply(void) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      int sum = 0;
      for (int k = 0; k < N; k++) sum += a[i][k] * b[k][j];
      c[i][j] = sum;
    }
}

static void sort(unsigned *v, int low, int high) {
  if (low >= high) return;
  unsigned pivot = v[(low + high) / 2];
  int i = low, j = high;
  while (i <= j) {
    while (v[i] < pivot) i++;
    while (v[j] > pivot) j--;
    if (i <= j) {
      unsigned t = v[i];
      v[i++] = v[j];
      v[j--] = t;
    }
  }
  sort(v, low, j);
  sort(v, i, high);
}

static unsigned crc(const unsigned char *p, int n) {
  unsigned r = ~0u;
  for (int i = 0; i < n; i++) {
    r ^= p[i];
    for (int bit = 0; bit < 8; bit++) r = r & 1 ? (r >> 1) ^ 0xEDB88320u : r >> 1;
  }
  return ~r;
}

static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

typedef struct { int op, value; } instruction;

static int interpret(const instruction *code, int rounds) {
  int x = 1, y = 0;
  for (int r = 0; r < rounds; r++)
    for (const instruction *i = code; i->op >= 0; i++)
      switch (i->op) {
        case 0: x += i->value; break;
        case 1: x ^= y; break;
        case 2: y = x & i->value; break;
        case 3: if (x & 1) y += i->value; break;
        default: x = -x; break;
      }
  return x + y;
}

static int smooth(int rounds) {
  static int line[256];
  for (int i = 0; i < 256; i++) line[i] = (int)(draw() >> 20);
  for (int r = 0; r < rounds; r++)
    for (int i = 1; i < 255; i++) line[i] = (line[i - 1] + 2 * line[i] + line[i + 1]) / 4;
  int sum = 0;
  for (int i = 0; i < 256; i++) sum += line[i];
  return sum;
}

int main(void) {
  static const instruction code[] = {{0, 7}, {1, 0}, {2, 1023}, {3, 5}, {4, 0}, {-1, 0}};
  unsigned check = 0;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) a[i][j] = draw() >> 24, b[i][j] = draw() >> 24;
  for (int i = 0; i < WORDS; i++) words[i] = draw();
  for (int i = 0; i < BYTES; i++) bytes[i] = draw() >> 16;
  multiply();
  for (int i = 0; i < N; i++) check += c[i][(i * 7) % N];
  sort(words, 0, WORDS - 1);
  for (int i = 0; i < WORDS; i += 100) check = check * 31 + words[i];
  check ^= crc(bytes, BYTES);
  check += fib(16) + interpret(code, 3000) + smooth(60);
  printf("%u\n", check);
  return 0;
}
