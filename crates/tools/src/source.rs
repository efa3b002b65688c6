//! Where what a tool returns comes from, and where what it is given goes: by these a engine knows when
//! private data could leave it with a call.

use url::Url;

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

impl Address {
    /// How the address may stand in a text: as it is sent and as the agent wrote it, with any scheme or
    /// none, as people write it. What of the written form does not lead to the same address by itself is
    /// none: `http:host/x?u=://other/` ends in the spelling of another one.
    #[must_use]
    pub fn spellings(&self) -> Vec<&str> {
        let Ok(sent) = Url::parse(&self.url) else { return Vec::new() };
        let leads_there = |rest: &&str| {
            let read = Url::parse(&format!("{}://{rest}", sent.scheme()));
            read.is_ok_and(|read| bare(read.as_str()) == bare(&self.url))
        };
        [&*self.url, &*self.written].into_iter().filter_map(bare).filter(leads_there).collect()
    }
}

/// An address without its scheme, and without what is not sent or says nothing.
fn bare(url: &str) -> Option<&str> {
    let (_, rest) = url.split('#').next()?.split_once("://")?;
    Some(rest.strip_suffix('/').unwrap_or(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spellings(written: &str) -> Vec<String> {
        let url = Url::parse(written).unwrap();
        let host = url.host_str().unwrap_or_default().to_owned();
        let address = Address { url: url.into(), written: written.to_owned(), host };
        address.spellings().into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn every_spelling_of_an_address_leads_to_it() {
        assert_eq!(spellings("https://a.example/ü#x"), ["a.example/%C3%BC", "a.example/ü"]);
        assert_eq!(spellings("HTTP://A.example:80/"), ["a.example", "A.example:80"]);
        for (written, sent) in [
            ("http:a.example/x?q=secret&u=://a.example/page", "a.example/x?q=secret&u=://a.example/page"),
            ("http:/a.example/x?q=secret&u=://b.example", "a.example/x?q=secret&u=://b.example"),
            (r"http:\\a.example/x?q=secret&u=://b.example", "a.example/x?q=secret&u=://b.example"),
        ] {
            assert_eq!(spellings(written), [sent], "{written}");
        }
    }
}
