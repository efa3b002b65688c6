//! The guard of outgoing fetches: rejects addresses outside the public internet, and resolves names so that a
//! connection gets only the addresses that were checked, and no second look-up can return others.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use serde::Deserialize;
use url::{Host, Url};

use crate::{Error, Result};

/// Returns why an address may not be fetched from; none for the public internet.
///
/// Refuses everything that is not clearly a global unicast address, including addresses that only wrap an
/// IPv4 address: public servers do not need those.
fn refused(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => refused_v4(address),
        IpAddr::V6(address) => refused_v6(address),
    }
}

fn refused_v4(address: Ipv4Addr) -> Option<&'static str> {
    let [a, b, c, d] = address.octets();
    Some(match (a, b, c) {
        (0, ..) => "unspecified",
        (10, ..) | (172, 16..=31, _) | (192, 168, _) => "private",
        (100, 64..=127, _) => "carrier-grade NAT",
        (127, ..) => "loopback",
        (169, 254, _) => "link-local",
        (192, 0, 0) | (192, 88, 99) => "reserved",
        (192, 0, 2) | (198, 51, 100) | (203, 0, 113) => "documentation",
        (198, 18..=19, _) => "benchmarking",
        (224..=239, ..) => "multicast",
        (240..=255, ..) => "reserved",
        // The metadata service of one large cloud provider, on an otherwise public address.
        (168, 63, 129) if d == 16 => "cloud metadata",
        _ => return None,
    })
}

fn refused_v6(address: Ipv6Addr) -> Option<&'static str> {
    let [a, b, c, d, e, f, ..] = address.segments();
    Some(match (a, b) {
        _ if address.is_unspecified() => "unspecified",
        _ if address.is_loopback() => "loopback",
        (0, 0) if (c, d, e, f) == (0, 0, 0, 0xffff) => "IPv4-mapped",
        (0, 0) => "IPv4-compatible or translated",
        (0x64, 0xff9b) => "NAT64",
        (0xfc00..=0xfdff, _) => "unique-local",
        (0xfe80..=0xfebf, _) => "link-local",
        (0xfec0..=0xfeff, _) => "site-local",
        (0xff00..=0xffff, _) => "multicast",
        (0x2001, 0xdb8) | (0x3fff, 0..=0x0fff) => "documentation",
        (0x2001, 0) => "Teredo",
        (0x2001, 1..=0x1ff) => "reserved",
        (0x2002, _) => "6to4",
        (0x2000..=0x3fff, _) => return None,
        _ => "reserved",
    })
}

/// A host that may be fetched from although it is not public: `name`, `address`, or either with `:port` to
/// allow only that port.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct AllowedHost {
    host: Host,
    port: Option<u16>,
}

impl AllowedHost {
    fn allows(&self, url: &Url) -> bool {
        url.host().is_some_and(|host| host.to_owned() == self.host)
            && self.port.is_none_or(|port| url.port_or_known_default() == Some(port))
    }
}

impl FromStr for AllowedHost {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let refuse = || {
            Error::NotConfigured(
                "this is not a host to allow: write `name`, `name:port`, `[v6]` or `[v6]:port`".to_owned(),
            )
        };
        // A colon outside of brackets begins the port.
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, Some(port.parse().map_err(|_| refuse())?)),
            _ => (text, None),
        };
        let host = Host::parse(host).map_err(|_| refuse())?;
        Ok(Self { host, port })
    }
}

impl TryFrom<String> for AllowedHost {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

/// How to reach a URL that passed the check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    /// Only by addresses of the public internet.
    Guarded,
    /// By any address: the operator allowed the host.
    Open,
}

/// Checks a URL before its host is resolved.
pub(super) fn check(url: &Url, allowed: &[AllowedHost]) -> Result<Route> {
    if !matches!(url.scheme(), "http" | "https") {
        let scheme = url.scheme();
        return Err(Error::NotAllowed(format!("`{scheme}:` addresses are not fetched, only http and https")));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Error::NotAllowed("the address holds a user name or password; leave it out".to_owned()));
    }
    if allowed.iter().any(|host| host.allows(url)) {
        return Ok(Route::Open);
    }
    // A literal address bypasses the resolver.
    let address = match url.host() {
        Some(Host::Ipv4(address)) => IpAddr::V4(address),
        Some(Host::Ipv6(address)) => IpAddr::V6(address),
        Some(Host::Domain(_)) => return Ok(Route::Guarded),
        None => return Err(Error::NotAllowed("the address names no host".to_owned())),
    };
    match refused(address) {
        Some(why) => Err(Refused { host: address.to_string(), address, why }.into()),
        None => Ok(Route::Guarded),
    }
}

/// A host with at least one address that is not public.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refused {
    host: String,
    address: IpAddr,
    why: &'static str,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, address, why } = self;
        write!(
            f,
            "`{host}` resolves to {address} ({why}), which is not on the public internet. \
             Only the operator can allow it, by the setting `tools.fetch.allow`"
        )
    }
}

impl std::error::Error for Refused {}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        Self::NotAllowed(refused.to_string())
    }
}

/// Finds the refusal among an error's causes.
pub(super) fn refusal<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a Refused> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(refused) = error.downcast_ref() {
            return Some(refused);
        }
        next = error.source();
    }
    None
}

/// Resolves a host for the connection that follows, and refuses it when any of its addresses is not public: a
/// host with both public and private addresses is suspicious.
#[derive(Debug, Clone, Copy)]
pub(super) struct GuardedResolver;

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let host = name.as_str();
            let addresses: Vec<_> = tokio::net::lookup_host((host, 0)).await?.collect();
            for address in addresses.iter().map(|address| address.ip()) {
                if let Some(why) = refused(address) {
                    return Err(Refused { host: host.to_owned(), address, why }.into());
                }
            }
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_allowed() {
        let public = [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "128.0.0.1",
            "169.253.255.255",
            "172.15.255.255",
            "172.32.0.0",
            "192.167.255.255",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2001:200::1",
            "2606:4700:4700::1111",
            "2a00:1450:4001::8a",
        ];
        for address in public {
            assert_eq!(refused(address.parse().unwrap()), None, "{address}");
        }
        let not_public = [
            ("0.0.0.0", "unspecified"),
            ("0.1.2.3", "unspecified"),
            ("10.0.0.0", "private"),
            ("10.255.255.255", "private"),
            ("100.64.0.0", "carrier-grade NAT"),
            ("100.127.255.255", "carrier-grade NAT"),
            ("127.0.0.1", "loopback"),
            ("127.255.255.254", "loopback"),
            ("168.63.129.16", "cloud metadata"),
            ("169.254.169.254", "link-local"),
            ("172.16.0.0", "private"),
            ("172.31.255.255", "private"),
            ("192.0.0.8", "reserved"),
            ("192.0.2.1", "documentation"),
            ("192.88.99.1", "reserved"),
            ("192.168.0.1", "private"),
            ("198.18.0.1", "benchmarking"),
            ("198.51.100.1", "documentation"),
            ("203.0.113.1", "documentation"),
            ("224.0.0.1", "multicast"),
            ("239.255.255.255", "multicast"),
            ("240.0.0.1", "reserved"),
            ("255.255.255.255", "reserved"),
            ("::", "unspecified"),
            ("::1", "loopback"),
            ("::ffff:8.8.8.8", "IPv4-mapped"),
            ("::127.0.0.1", "IPv4-compatible or translated"),
            ("::ffff:0:127.0.0.1", "IPv4-compatible or translated"),
            ("64:ff9b::7f00:1", "NAT64"),
            ("64:ff9b:1::1", "NAT64"),
            ("100::1", "reserved"),
            ("2001::1", "Teredo"),
            ("2001:10::1", "reserved"),
            ("2001:db8::1", "documentation"),
            ("2002:7f00:1::", "6to4"),
            ("3fff::1", "documentation"),
            ("4000::1", "reserved"),
            ("5f00::1", "reserved"),
            ("fc00::1", "unique-local"),
            ("fd00:ec2::254", "unique-local"),
            ("fe80::1", "link-local"),
            ("fec0::1", "site-local"),
            ("ff02::1", "multicast"),
        ];
        for (address, why) in not_public {
            assert_eq!(refused(address.parse().unwrap()), Some(why), "{address}");
        }
    }

    #[test]
    fn an_allowed_host_matches_only_that_host_and_port() {
        let allowed =
            |host: &str, url: &str| host.parse::<AllowedHost>().unwrap().allows(&url.parse().unwrap());
        assert!(allowed("localhost", "http://localhost:8080/x"));
        assert!(allowed("localhost:8080", "http://LOCALHOST:8080/x"));
        assert!(allowed("wiki.internal:443", "https://wiki.internal/"));
        assert!(allowed("[::1]:9", "http://[0:0:0::1]:9/"));
        assert!(allowed("127.0.0.1", "http://0x7f.1/"));
        assert!(!allowed("localhost:8080", "http://localhost:8081/"));
        assert!(!allowed("localhost", "http://127.0.0.1/"));
        assert!(!allowed("wiki.internal", "http://wiki.internal.example.com/"));
        for text in ["", "a b", "http://x", "x:port", "x:70000", "::1"] {
            assert!(text.parse::<AllowedHost>().is_err(), "{text}");
        }
    }

    #[tokio::test]
    async fn the_resolver_refuses_a_name_that_resolves_to_loopback() {
        let error = GuardedResolver.resolve("localhost".parse().unwrap()).await.err().unwrap();
        assert_eq!(refusal(error.as_ref()).unwrap().why, "loopback");
    }
}
