//! Durable LLM agents: the library face and the one binary.
