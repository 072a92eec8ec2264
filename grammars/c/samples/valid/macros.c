/* Macros and attributes before and after names. */
#define BEGIN_DECLARATIONS namespace x {
#define END_DECLARATIONS }

struct file {
    int fd GUARDED_BY(lock);
    __declspec(align(8)) char buffer[16];
};

static const OBJECT_ATTRIBUTE int level = 1;
