//! The house: runs, programs, children, prompts, dispatch.
