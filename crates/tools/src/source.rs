//! Where what a tool returns comes from, and where what it is given goes: by these a house knows when
//! private data could leave it with a call.

/// Where what a tool returns comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The agents of the tree themselves: their messages, notes and memory.
    Agents,
    /// The person whose agents they are.
    Person,
    /// What anybody may read, on the public web, and nothing of what the agent wrote itself.
    Public,
    /// Anything else: files, connected servers, what a program of your own looks up.
    Private,
}

/// Where a call goes, when its arguments name the place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The address in full, as it is sent.
    pub url: String,
    /// The address as the arguments have it.
    pub written: String,
    /// The host that gets to read it.
    pub host: String,
}
