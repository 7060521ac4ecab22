#define ENOMEM 12
#define EINVAL 22
#define EDOM 33
#define ERANGE 34
