function f() {
<<<<<<< HEAD
  return 1;
=======
  return 2;
>>>>>>> topic
}
