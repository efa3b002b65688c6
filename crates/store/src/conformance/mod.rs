//! The public conformance suite: a type is a store if it passes.
//!
//! Each property is a function over a [`Place`]. To run them all for a store of your own, add this crate, or
//! `entourage`, as a dev-dependency with the feature `conformance`, implement [`Place`] for where your store
//! keeps its rows, and expand the tests:
//!
//! ```text
//! struct Database { name: String }
//!
//! impl Database {
//!     fn new() -> Self {
//!         Self { name: an_empty_database() }
//!     }
//! }
//!
//! #[async_trait]
//! impl Place for Database {
//!     type Store = MyStore;
//!
//!     async fn open(&self) -> Result<MyStore> {
//!         MyStore::connect(&self.name).await
//!     }
//! }
//!
//! entourage_store::conformance!(Database::new); // or entourage::store::conformance!
//! ```
//!
//! The calling crate needs `tokio` with its test macro. What the suite requires beyond the documentation of
//! [`Store`] is documented at the property that checks it.
#![cfg(feature = "conformance")]

pub mod commits;
pub mod concurrency;
pub mod contract;
pub mod durable;
pub mod entities;
pub mod events;
pub mod fencing;
pub mod handles;
pub mod inbox;
pub mod races;
pub mod random;
pub mod retention;
mod sample;
pub mod scopes;
pub mod transcripts;
pub mod trees;
pub mod usage;

use async_trait::async_trait;

use crate::{Result, Store};

/// Where a store keeps its rows, such as a database: empty when created, and separate from every other place.
#[async_trait]
pub trait Place: Send + Sync + 'static {
    /// The store under test.
    type Store: Store;

    /// Opens the store of this place. The suite opens it again only after it has dropped the store.
    async fn open(&self) -> Result<Self::Store>;
}

/// Expands to one test for each property of two handles that are open at once, and to the whole suite over
/// two handles, given the path of a function that creates a place of [`Handles`](handles::Handles).
#[macro_export]
macro_rules! conformance_of_handles {
    ($place:path) => {
        $crate::conformance! { @each $place;
            races: [
                the_last_place_of_a_tree_is_given_once,
                a_record_is_changed_and_made_once,
                a_tree_is_forgotten_or_written_to,
                a_tree_is_forgotten_while_it_is_claimed,
                a_claim_reads_what_was_committed_before_it,
                forgetting_events_loses_none_that_comes_meanwhile,
                a_commit_hears_of_a_post_before_it,
                two_trees_are_written_in_either_order,
                a_handle_hears_of_its_own_commits,
            ];
        }

        mod by_two_handles {
            use super::*;

            fn divided()
            -> $crate::conformance::handles::TwoHandles<impl $crate::conformance::handles::Handles> {
                $crate::conformance::handles::TwoHandles($place())
            }

            $crate::conformance!(divided);
        }
    };
}

/// Expands to one test for each property, given the path of a function that creates a [`Place`].
#[macro_export]
macro_rules! conformance {
    ($place:path) => {
        $crate::conformance! { @each $place;
            commits: [
                a_refused_expectation_leaves_nothing,
                a_refused_fence_leaves_nothing,
                a_refused_write_leaves_nothing,
                each_expectation_holds_or_refuses,
                the_last_write_of_a_row_wins,
                hints_follow_durability,
            ];
            contract: [
                an_agent_is_made_once,
                an_agent_may_begin_with_items,
                a_key_is_unique_in_its_tree,
                an_agent_never_moves,
                an_activation_writes_its_own_agent_only,
                a_step_is_of_a_run_of_its_writer,
                an_outsider_writes_no_transcript,
                nothing_is_posted_to_nobody,
                a_tree_that_is_not_there_is_told_nothing,
                an_entity_never_passes_to_another_owner,
                names_are_plain_and_bounded,
            ];
            fencing: [
                an_old_epoch_is_refused,
                claims_are_serial,
                a_claim_reads_all_that_there_is,
                a_claim_reads_no_item_that_is_held,
                a_claim_reads_the_current_session_only,
                a_claim_of_nobody_is_none,
            ];
            transcripts: [
                items_are_in_order_and_without_gaps,
                every_item_reads_back,
                runs_read_back_whole,
                runs_that_have_not_ended_are_found,
                runs_are_counted_by_kind_and_version,
                steps_are_in_the_order_they_were_begun,
            ];
            inbox: [
                posts_are_in_the_order_of_their_arrival,
                a_commit_says_whether_posts_are_left,
                reading_takes_ones_own_posts_only,
                due_wakeups_are_in_order_and_paged,
                a_served_wakeup_is_gone,
            ];
            events: [
                each_change_is_told,
                events_resume_from_any_cursor,
                trees_are_numbered_apart,
                times_never_go_back_within_a_tree,
                numbers_have_no_gaps_under_concurrent_committers,
            ];
            entities: [
                an_entity_is_written_whole,
                queries_restrict,
                pages_go_both_ways,
                pages_end_by_their_bytes,
                search_finds_by_words,
                search_text_is_data,
                search_follows_changes,
            ];
            trees: [
                agents_are_found_by_their_place,
                who_was_stopped_is_found_apart_from_who_failed,
                agents_with_something_to_do_are_found,
                pages_of_agents_go_both_ways,
                a_full_tree_refuses,
                too_many_children_are_refused,
            ];
            retention: [
                forgotten_events_keep_their_numbers,
                a_forgotten_agent_leaves_nothing,
                an_event_outlives_the_item_that_it_names,
                a_forgotten_entity_is_gone,
                a_tree_is_at_rest_or_refuses,
            ];
            scopes: [
                no_read_shows_another_owners_rows,
            ];
            concurrency: [
                many_writers_see_no_busy_error,
                readers_see_whole_commits,
            ];
            usage: [
                usage_adds_up_by_anything,
                usage_follows_the_rows,
            ];
            durable: [
                what_was_kept_is_there_again,
            ];
        }

        #[test]
        fn any_history_reads_as_it_does_in_memory() {
            $crate::conformance::random::any_history_reads_as_it_does_in_memory($place);
        }
    };
    (@each $place:path; $($file:ident: [$($property:ident),+ $(,)?];)+) => {
        $($(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $property() -> $crate::Result<()> {
                $crate::conformance::$file::$property($place()).await
            }
        )+)+
    };
}
