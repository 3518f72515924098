/* A program that does all its work in a shared object, which carries the runtime. */
int engine_main(int argc, char **argv);

int main(int argc, char **argv) { return engine_main(argc, argv); }
