//! A world for tests: a house with a scripted model, a fake clock and a crash injector.
