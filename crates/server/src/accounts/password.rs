//! Passwords: their form, their hashes, and the comparison with one.

use argon2::{
    Argon2, PasswordHasher, PasswordVerifier,
    password_hash::{Error as HashError, phc},
};
use entourage_types::{PasswordHash, composed};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::{Problem, blocking_work_limit::BlockingWorkLimit};

/// The fewest and the most characters of a password.
const SHORTEST: usize = 8;
const LONGEST: usize = 128;

/// The hashes under way in this process: each takes 19 MiB, and a core for a moment.
static HASHES: BlockingWorkLimit = BlockingWorkLimit::new(2);
/// How many wait for these at most: some seconds of work.
static WAITING: Semaphore = Semaphore::const_new(64);

/// A hash that takes as long to verify as any other, for emails without an account. Whether a password
/// matches it makes no difference.
const DUMMY: &str = "$argon2id$v=19$m=19456,t=2,p=1$ZW50b3VyYWdlLm5vYm9keQ$\
                         c2nTb1hKUpLkXWz5H4RrT0Yd8mQv3aEoJf7gB6iCxNs";

/// A password in the clear. It is not shown, and its memory is erased.
#[derive(Debug)]
pub(crate) struct Password(SecretString);

impl Password {
    /// Takes a password of 8 to 128 characters, whichever they are. They count and are compared composed (NFC): the
    /// same password is typed in two ways on two systems.
    pub(crate) fn new(given: &SecretString) -> Result<Self, Problem> {
        let given = composed(given.expose_secret()).into_owned();
        let length = given.chars().count();
        let password = Self(given.into());
        if (SHORTEST..=LONGEST).contains(&length) {
            return Ok(password);
        }
        Err(Problem::invalid(format!(
            "`password` has {length} characters; choose one of {SHORTEST} to {LONGEST}"
        )))
    }

    /// Its hash under a salt of its own.
    pub(crate) async fn hash(self) -> Result<PasswordHash, Problem> {
        let _waits = place()?;
        let hashed: Result<phc::PasswordHash, _> =
            HASHES.run(move || Argon2::default().hash_password(self.0.expose_secret().as_bytes())).await;
        hashed.map(|hash| PasswordHash::new(hash.to_string())).map_err(|error| failed(&error))
    }

    /// Whether this is the password of a hash; of none it is not, which takes as long.
    pub(crate) async fn matches(self, hash: Option<PasswordHash>) -> Result<bool, Problem> {
        let _waits = place()?;
        let verified = HASHES.run(move || {
            let hash = phc::PasswordHash::new(hash.as_ref().map_or(DUMMY, PasswordHash::expose))?;
            Argon2::default().verify_password(self.0.expose_secret().as_bytes(), &hash)
        });
        match verified.await {
            Ok(()) => Ok(true),
            Err(HashError::PasswordInvalid) => Ok(false),
            Err(error) => Err(failed(&error)),
        }
    }
}

/// A place among those that wait for a hash.
fn place() -> Result<SemaphorePermit<'static>, Problem> {
    WAITING.try_acquire().map_err(|_| Problem::busy("too many people log in at the moment; try again"))
}

fn failed(error: &HashError) -> Problem {
    tracing::error!(%error, "a password could not be hashed");
    Problem::internal("the server's log has the cause, under this answer's x-request-id")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn password(text: &str) -> Password {
        Password::new(&text.into()).unwrap()
    }

    #[tokio::test]
    async fn a_password_matches_its_own_hash_however_it_is_typed_and_no_other() {
        let hash = password("caf\u{e9} au lait").hash().await.unwrap();
        let again = password("caf\u{e9} au lait").hash().await.unwrap();
        assert_ne!(hash, again, "each has a salt of its own");
        assert!(hash.expose().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{}", hash.expose());
        let matches =
            async |text, hash: &PasswordHash| password(text).matches(Some(hash.clone())).await.unwrap();
        assert!(matches("cafe\u{301} au lait", &hash).await);
        assert!(!matches("cafe au lait", &hash).await && !matches("caf\u{e9} au lait ", &hash).await);
    }

    /// The dummy hash must be well formed, with the parameters of real ones: else an email without an account
    /// would show in the time of the answer, or as an error.
    #[tokio::test]
    async fn a_password_of_nobody_is_compared_with_a_hash_like_any_other() {
        let real = password("correct horse").hash().await.unwrap();
        let parse = |text| phc::PasswordHash::new(text).unwrap();
        let (real, nobody) = (parse(real.expose()), parse(DUMMY));
        assert_eq!(
            (real.algorithm, real.version, &real.params),
            (nobody.algorithm, nobody.version, &nobody.params)
        );
        let sizes =
            |hash: &phc::PasswordHash| (hash.salt.as_ref().unwrap().len(), hash.hash.as_ref().unwrap().len());
        assert_eq!(sizes(&real), sizes(&nobody));
        assert!(!password("correct horse").matches(None).await.unwrap());
    }

    #[tokio::test]
    async fn a_hash_that_is_none_is_an_error_and_matches_nothing() {
        let broken = PasswordHash::new("secret".into());
        let problem = password("correct horse").matches(Some(broken)).await.unwrap_err();
        assert!(problem.document.status == 500 && !problem.document.detail.contains("secret"));
    }

    #[test]
    fn a_password_has_8_to_128_characters_of_any_kind_and_is_not_shown() {
        for good in ["12345678", "        ", "例例例例例例例例", &"x".repeat(LONGEST), "a\0b\n\u{202e}cdef"]
        {
            let shown = format!("{:?}", password(good));
            assert!(!shown.contains(good), "{shown}");
        }
        // Eight before they are composed.
        for bad in ["", "1234567", &"x".repeat(LONGEST + 1), &"e\u{301}".repeat(4)] {
            let problem = Password::new(&bad.into()).unwrap_err().document;
            assert!(problem.status == 422 && problem.detail.starts_with("`password` has"), "{problem:?}");
        }
    }
}
