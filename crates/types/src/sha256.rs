//! A SHA-256 digest: 32 bytes, written in hex.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sha256([u8; 32]);

impl Sha256 {
    /// A digest from its bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Writes the digest in one piece: each turn has one.
    fn written<'a>(&self, hex: &'a mut [u8; 64]) -> &'a str {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        for (pair, byte) in hex.chunks_exact_mut(2).zip(self.0) {
            pair.copy_from_slice(&[byte >> 4, byte & 15].map(|digit| DIGITS[usize::from(digit)]));
        }
        str::from_utf8(hex).unwrap_or_default()
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.written(&mut [0; 64]))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Sha256 {
    type Err = String;

    fn from_str(hex: &str) -> Result<Self, String> {
        let digit = |char: u8| char::from(char).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let mut bytes = [0; 32];
        if hex.len() != 64 {
            return Err(format!("`{hex}` is not a SHA-256 digest: it has no 64 digits"));
        }
        for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks(2)) {
            *byte = match (digit(pair[0]), digit(pair[1])) {
                (Some(high), Some(low)) => high << 4 | low,
                _ => return Err(format!("`{hex}` is not a SHA-256 digest: it is not hex")),
            };
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Sha256 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.written(&mut [0; 64]))
    }
}

impl<'de> Deserialize<'de> for Sha256 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let hex = std::borrow::Cow::<str>::deserialize(deserializer)?;
        hex.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_reads_back_from_its_hex() {
        let digest = Sha256::from_bytes(std::array::from_fn(|at| at as u8 * 7));
        assert_eq!(digest.to_string().parse(), Ok(digest));
        for wrong in ["", "ab", &"g".repeat(64), &"é".repeat(32)] {
            assert!(wrong.parse::<Sha256>().is_err(), "{wrong}");
        }
    }
}
