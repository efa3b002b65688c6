//! Places for a few at once, which owners take in turns: one who asks for many keeps the others waiting for one each.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use entourage_types::Owner;
use tokio::sync::oneshot;

/// So many places. Clones are the same places.
#[derive(Debug, Clone)]
pub struct FairPlaces(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    free: usize,
    /// The owners that wait, in the order in which they are served; none of them is empty.
    waiting: VecDeque<(Owner, VecDeque<oneshot::Sender<FairPlace>>)>,
}

/// A place, which is free again once this is dropped.
#[derive(Debug)]
pub struct FairPlace(Option<FairPlaces>);

impl FairPlaces {
    /// So many places; at least one.
    #[must_use]
    pub fn new(places: usize) -> Self {
        Self(Arc::new(Mutex::new(State { free: places.max(1), waiting: VecDeque::new() })))
    }

    /// Waits for a place. Dropping the future gives up the wait.
    pub async fn enter(&self, owner: &Owner) -> FairPlace {
        let called = {
            let mut state = self.locked();
            if state.free > 0 {
                state.free -= 1;
                return FairPlace(Some(self.clone()));
            }
            let (call, called) = oneshot::channel();
            match state.waiting.iter_mut().find(|(waiting, _)| waiting == owner) {
                Some((_, calls)) => calls.push_back(call),
                None => state.waiting.push_back((owner.clone(), VecDeque::from([call]))),
            }
            called
        };
        match called.await {
            Ok(place) => place,
            // No call is dropped before it was made.
            Err(_) => std::future::pending().await,
        }
    }

    /// Gives a place that became free to the owner whose turn it is.
    fn leave(&self) {
        let mut place = FairPlace(Some(self.clone()));
        let mut state = self.locked();
        while let Some((owner, mut calls)) = state.waiting.pop_front() {
            let Some(call) = calls.pop_front() else { continue };
            let sent = call.send(place);
            match sent {
                // The owner has had a turn.
                Ok(()) if !calls.is_empty() => return state.waiting.push_back((owner, calls)),
                Ok(()) => return,
                // That one does not wait any more: it is the turn of the owner's next.
                Err(refused) => {
                    place = refused;
                    state.waiting.push_front((owner, calls));
                }
            }
        }
        state.free += 1;
        place.0 = None;
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for FairPlace {
    fn drop(&mut self) {
        if let Some(places) = self.0.take() {
            places.leave();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt as _, future::BoxFuture};

    use super::*;

    fn waits<'a>(places: &'a FairPlaces, owner: &'a Owner) -> BoxFuture<'a, FairPlace> {
        let mut entering = places.enter(owner).boxed();
        assert!((&mut entering).now_or_never().is_none(), "it waits");
        entering
    }

    #[test]
    fn owners_take_turns() {
        let places = FairPlaces::new(1);
        let [ann, eve] = ["ann", "eve"].map(Owner::new);
        let first = places.enter(&eve).now_or_never().unwrap();
        let eves: Vec<_> = (0..3).map(|_| waits(&places, &eve)).collect();
        let anns = waits(&places, &ann);
        drop(first);
        let mut eves = eves.into_iter();
        let second = eves.next().unwrap().now_or_never().unwrap();
        drop(second);
        let third = anns.now_or_never().expect("ann, although two of eve's came before");
        drop(third);
        drop(eves.next().unwrap().now_or_never().unwrap());
        drop(eves.next().unwrap().now_or_never().unwrap());
        assert_eq!(places.locked().free, 1);
    }

    #[test]
    fn who_stops_waiting_takes_no_place() {
        let places = FairPlaces::new(1);
        let ann = Owner::new("ann");
        let first = places.enter(&ann).now_or_never().unwrap();
        drop(waits(&places, &ann));
        let called = waits(&places, &ann);
        drop(first);
        // Called, and gone before it looked: the place is free all the same.
        drop(called);
        assert_eq!(places.locked().free, 1);
        assert!(places.enter(&ann).now_or_never().is_some());
    }
}
