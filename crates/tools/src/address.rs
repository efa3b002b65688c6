//! The destinations of tools' arguments: from these, and the sources of tools' results, the engine determines when a
//! call could leak private data.

use url::Url;

/// The destination of a call, if its arguments name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The full address, as it is sent.
    pub url: String,
    /// The address as it is in the arguments.
    pub written: String,
    /// The host that receives it.
    pub host: String,
}

impl Address {
    /// Returns the ways in which a text may spell the address: as it is sent and as the agent wrote it,
    /// without a scheme. A part of the written form that does not lead to the same address by itself is
    /// omitted: `http:host/x?u=://other/` ends in the spelling of another address.
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

/// Returns an address without its scheme, its fragment, and a trailing slash.
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
    fn an_address_is_recognized_in_each_of_its_spellings() {
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
