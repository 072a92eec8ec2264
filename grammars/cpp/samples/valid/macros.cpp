// Macros that stand for attributes and whole lines.
LIB_BEGIN_NAMESPACE

template <typename T>
class Queue {
 public:
  static LIB_CONSTEXPR bool empty(int x) { return x == 0; }
  void lock() EXCLUSIVE_LOCKS(mu_) { n_ = 1; }
  void open() EXCLUSIVE_LOCKS(mu_) { n_ = 2; }

 private:
  Mutex mu_;
  CondVar done_ GUARDED_BY(mu_);
  int n_ GUARDED_BY(mu_);
};

LIB_END_NAMESPACE
