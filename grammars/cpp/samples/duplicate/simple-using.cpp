using std::vector;
using std::string;
using std::string;
