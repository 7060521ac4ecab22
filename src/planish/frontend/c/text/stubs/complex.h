#ifndef PLANISH_COMPLEX_H
#define PLANISH_COMPLEX_H
#define complex _Complex
#endif
