//! Connections, their number and whose they are.

use super::*;

const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
const THERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

fn connections(most: usize) -> Arc<Connections> {
    Connections::new(Limits::new(Some(most)))
}

/// Opens `many` connections with a request under way on each, of the owner if there is one.
fn busy(on: &Arc<Connections>, many: usize, owner: Option<&str>) -> Vec<(Entered, Arc<ActiveRequest>)> {
    let begin = |_| {
        let entered = on.enter(HERE);
        let visit = entered.request();
        if let Some(owner) = owner {
            visit.begin_request(&Owner::new(owner)).unwrap();
        }
        (entered, visit)
    };
    (0..many).map(begin).collect()
}

fn is_accepted(entered: &Entered) -> bool {
    entered.request().is_of_stranger().is_ok()
}

#[test]
fn a_full_server_closes_the_oldest_idle_connection() {
    let connections = connections(4);
    let at_work = connections.enter(THERE);
    let _request = at_work.request();
    let idle: Vec<Entered> = (0..3).map(|_| connections.enter(HERE)).collect();
    let _next = connections.enter(HERE);
    let gave_way: Vec<bool> = idle.iter().map(|idle| idle.gives_way.is_cancelled()).collect();
    assert_eq!((at_work.gives_way.is_cancelled(), gave_way), (false, vec![true, false, false]));
}

#[test]
fn unauthenticated_clients_of_one_address_cannot_take_every_connection() {
    let connections = connections(4);
    let mut greedy = busy(&connections, 3, None);
    assert!(!is_accepted(&connections.enter(HERE)), "three of four are its share");
    let other = connections.enter(THERE);
    assert!(is_accepted(&other));
    let (first, request) = greedy.remove(0);
    drop(request);
    assert!(is_accepted(&connections.enter(HERE)));
    assert!(first.gives_way.is_cancelled() && !other.gives_way.is_cancelled(), "its own gives way");
}

#[test]
fn request_limits_apply_per_owner_and_not_per_address() {
    let connections = connections(8);
    let ann = busy(&connections, 6, Some("ann"));
    let more = connections.enter(HERE).request();
    assert_eq!(more.begin_request(&Owner::new("ann")).unwrap_err().document.status, 429);
    drop(more);
    let bob = busy(&connections, 2, Some("bob"));
    // Now every connection has a request under way.
    let late = connections.enter(HERE);
    assert_eq!(late.request().begin_request(&Owner::new("carol")).unwrap_err().document.status, 503);
    drop(ann);
    late.request().begin_request(&Owner::new("carol")).unwrap();
    drop(bob);
}

#[test]
fn unread_responses_of_one_owner_hold_a_bounded_number_of_bytes() {
    let connections = connections(100);
    let [ann, bob] = ["ann", "bob"].map(Owner::new);
    let begin = |owner: &Owner| {
        let visit = connections.enter(HERE).request();
        visit.begin_request(owner).map(|()| visit)
    };
    let long = begin(&ann).unwrap();
    long.book_answer(UNTAKEN + 1, true).unwrap();
    assert_eq!(begin(&ann).err().unwrap().document.status, 429, "nothing is done that cannot be answered");
    begin(&bob).unwrap().book_answer(UNTAKEN, true).unwrap();
    drop(long);
    let first = begin(&ann).unwrap();
    first.book_answer(UNTAKEN - 10, true).unwrap();
    let (read, written) = (begin(&ann).unwrap(), begin(&ann).unwrap());
    assert_eq!(read.book_answer(11, true).unwrap_err().document.status, 429);
    written.book_answer(11, false).unwrap();
    drop((first, written));
    read.book_answer(11, true).unwrap();
    drop(read);
    assert!(connections.open().of.is_empty());
}

#[test]
fn only_a_few_connections_over_the_limit_stay_open() {
    let connections = connections(1);
    let _at_work = busy(&connections, 1, None);
    let late: Vec<Entered> = (0..=EXTRA).map(|_| connections.enter(HERE)).collect();
    let ended: Vec<bool> = late.iter().map(|late| late.gives_way.is_cancelled()).collect();
    assert!(ended[0] && !ended[1..].contains(&true));
    assert!(!late[1..].iter().any(is_accepted));
}

#[test]
fn a_request_that_upgrades_its_connection_is_under_way_while_that_is_open() {
    let connections = connections(4);
    let ann = Owner::new("ann");
    let upgraded = connections.enter(HERE);
    let request = upgraded.request();
    request.begin_request(&ann).unwrap();
    upgraded.upgrade_by(request);
    let idle: Vec<Entered> = (0..3).map(|_| connections.enter(HERE)).collect();
    let _next = connections.enter(HERE);
    assert_eq!((upgraded.gives_way.is_cancelled(), idle[0].gives_way.is_cancelled()), (false, true));
    assert_eq!(connections.open().of[&ann].requests, 1);
    drop(upgraded);
    assert!(connections.open().of.is_empty());
}

#[test]
fn an_ended_request_frees_a_connection() {
    let connections = connections(1);
    let first = busy(&connections, 1, None);
    let second = connections.enter(HERE);
    assert!(!is_accepted(&second));
    drop(first);
    assert!(is_accepted(&second));
}
