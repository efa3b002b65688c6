//! Snapshots that somebody made who can write to the store: with a digest that fits, and a state that no run had. Their
//! worst is a result that such a writer could have stored as well.

use std::time::Duration;

use entourage_python::{Error, Limits, Progress, Record, Script, Settings};
use sha2::{Digest, Sha256};

use crate::harness::*;

/// Bytes before the digest, and before what it is of.
const MAGIC: usize = 8;
const DIGEST: usize = MAGIC + 32;

const CODE: &str = "from dataclasses import dataclass
@dataclass
class P:
  x: int
  y: list
p = P(1, [2, 'three'])
h = fork('f')
x = [tool('t')]
for i in range(3):
  x.append(p.x + i)
print(x, p, wait(h))";

/// A snapshot in which some bits of a byte are the other way, with the digest that belongs to it.
fn altered(snapshot: &[u8], place: usize, bits: u8) -> Vec<u8> {
    let mut bytes = snapshot.to_owned();
    bytes[place] ^= bits;
    let digest = Sha256::digest(&bytes[DIGEST..]);
    bytes[MAGIC..DIGEST].copy_from_slice(&digest);
    bytes
}

#[tokio::test]
async fn a_state_that_brings_its_process_down_is_run_again_and_no_other_harms_the_one_who_asked() {
    let wall = Duration::from_secs(5);
    let limits = Limits { cpu: Duration::from_secs(2), wall, memory_bytes: 32 << 20, ..Limits::default() };
    let script = Script { limits, ..Script::new(CODE) };
    let workers = workers(Settings::default());
    let first = workers.run("o", &script, &Record::default(), None).await.unwrap();
    let Progress::Blocked { calls, snapshot: Some(snapshot), .. } = first else { panic!("{first:?}") };
    let calls = calls.into_iter().map(|new| new.call).collect();
    let record = Record { calls, outcomes: vec![(1, value("r")), (0, value("s"))] };
    let expected = workers.run("o", &script, &record, None).await.unwrap();
    let whole = workers.run("o", &script, &record, Some(&altered(&snapshot, DIGEST, 0))).await.unwrap();
    assert_eq!(whole, expected);
    let head = u32::from_le_bytes(snapshot[DIGEST..DIGEST + 4].try_into().unwrap()) as usize;
    let (mut crashes, mut others) = (0, 0);
    for place in (DIGEST + 4 + head..snapshot.len()).step_by(5) {
        for bits in [1, 0x80] {
            let before = workers.processes();
            let crafted = altered(&snapshot, place, bits);
            let ran = tokio::time::timeout(3 * wall, workers.run("o", &script, &record, Some(&crafted)));
            match ran.await.expect("it ends in time") {
                // Its process ended, and the result is that of one which ran all of the code.
                Ok(progress) if workers.processes() != before => {
                    assert_eq!(progress, expected, "{place} {bits}");
                    crashes += 1;
                }
                Ok(progress) => others += u32::from(progress != expected),
                Err(Error::OutOfMemory { .. } | Error::TimedOut { .. } | Error::TooDeep) => others += 1,
                Err(error) => panic!("{place} {bits}: {error:?}"),
            }
        }
    }
    // Such states are among them, so this shows something.
    assert!(crashes > 5 && others > 0, "{crashes} {others}");
    assert_eq!(workers.run("o", &script, &record, Some(&snapshot)).await.unwrap(), expected);
}
