//! The public conformance suite: a type is a store if it passes.
//!
//! Each property is a function over a [`Backing`]. To run them all for a store of your own, add this crate, or
//! `entourage`, as a dev-dependency with the feature `conformance`, implement [`Backing`] for where your store
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
//! impl Backing for Database {
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
//! A store that several processes share also passes [`conformance_of_handles!`](crate::conformance_of_handles), over places
//! where [two handles](handles::Handles) are open at once, and [`conformance_of_nodes!`](crate::conformance_of_nodes), over
//! places where [nodes meet](nodes::Meeting).
//!
//! The calling crate needs `tokio` with its test macro. What the suite requires beyond the documentation of
//! [`Store`] is documented at the property that checks it.
#![cfg(feature = "conformance")]

pub mod budgets;
pub mod commits;
pub mod concurrency;
pub mod contract;
pub mod durable;
pub mod entities;
pub mod events;
pub mod fencing;
pub mod finding;
pub mod forgetting;
pub mod grants;
pub mod handles;
pub mod inbox;
pub mod living;
mod meeting;
pub mod nodes;
mod nouns;
pub mod races;
pub mod random;
pub mod record_races;
pub mod records;
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
pub trait Backing: Send + Sync + 'static {
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
                two_writers_cannot_both_take_the_last_place_of_a_tree,
                two_writers_cannot_both_create_or_change_a_record,
                a_counter_gives_each_number_once,
                a_tree_is_either_pruned_or_written_to,
                a_claim_of_a_pruned_tree_writes_nothing,
                a_claim_reads_what_was_committed_before_it,
                pruning_events_loses_no_event_added_meanwhile,
                a_commit_or_the_next_one_reports_a_concurrent_post,
                two_writers_may_write_two_trees_in_opposite_order,
                a_handle_sends_hints_of_its_own_commits_only,
            ];
            commits: [
                a_repeated_commit_happens_once,
            ];
            fencing: [
                a_claim_counts_the_claims_since_the_last_commit,
                a_claim_names_the_node_that_it_takes_the_agent_from,
                claims_tell_the_time_of_one_clock_or_none,
            ];
            budgets: [
                two_calls_cannot_both_reserve_the_last_of_a_budget,
                nobody_falls_asleep_over_a_budget_behind_a_grant,
            ];
            grants: [
                what_was_granted_is_taken_back_once,
                a_grant_is_either_taken_back_or_reserved,
            ];
            forgetting: [
                an_agent_is_forgotten_with_what_another_handle_told_of_it,
            ];
            record_races: [
                two_writers_cannot_both_take_a_name,
                numbered_records_get_each_number_once,
                nothing_is_left_below_a_removed_record,
                two_writers_cannot_both_take_the_last_living_place,
                no_agent_is_put_below_a_deleted_one,
                a_child_is_either_forgotten_or_written_to,
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

/// Expands to one test for each property of the [`Nodes`](crate::Nodes) of a store that several processes share, given the
/// path of a function that creates a [`Meeting`](nodes::Meeting).
#[macro_export]
macro_rules! conformance_of_nodes {
    ($place:path) => {
        $crate::conformance! { @each $place;
            nodes: [
                a_node_is_seen_as_it_described_itself_last,
                a_node_is_alive_for_some_time_after_each_sign_of_life,
                a_node_that_leaves_gives_everything_back,
                a_node_that_is_gone_for_days_holds_nothing,
                an_agent_is_of_the_node_that_took_it_first,
                an_agent_is_given_back_by_its_node_alone,
                agents_of_a_dead_node_are_free,
                a_job_is_done_by_one_node,
                two_nodes_cannot_both_take_an_agent,
                what_others_serve_is_due_for_them_alone,
                an_agent_is_either_kept_or_taken_over,
                many_calls_of_a_node_are_answered_each,
                the_last_events_of_trees_are_read_at_once,
            ];
        }
    };
}

/// Expands to one test for each property, given the path of a function that creates a [`Backing`].
#[macro_export]
macro_rules! conformance {
    ($place:path) => {
        $crate::conformance! { @each $place;
            commits: [
                a_failed_expectation_stores_nothing,
                a_refused_fence_stores_nothing,
                a_refused_write_stores_nothing,
                each_expectation_holds_or_refuses_the_commit,
                the_last_write_of_a_row_wins,
                hints_follow_durability,
            ];
            contract: [
                an_agent_is_created_once,
                an_agent_may_be_created_with_items,
                a_key_is_unique_in_its_tree,
                an_agent_never_changes_its_owner_kind_key_or_place,
                an_activation_writes_its_own_agent_only,
                a_run_of_another_agent_is_not_taken_over,
                a_nul_in_a_name_title_or_error_is_refused,
                a_step_must_belong_to_a_run_of_its_writer,
                a_commit_without_a_fence_writes_no_transcript,
                a_post_to_a_missing_agent_is_refused,
                an_event_of_a_missing_tree_is_refused,
                an_entity_cannot_be_taken_by_another_owner,
                names_have_no_nul_and_a_bounded_length,
            ];
            fencing: [
                an_old_epoch_is_refused,
                concurrent_claims_get_different_epochs,
                a_claim_reads_the_run_steps_items_inbox_and_wakeups,
                a_claim_leaves_out_items_below_the_requested_number,
                a_claim_reads_the_current_session_only,
                a_claim_of_a_missing_agent_returns_none,
            ];
            transcripts: [
                items_are_in_order_and_without_gaps,
                every_type_of_item_reads_back_unchanged,
                runs_read_back_unchanged,
                open_runs_are_found,
                runs_are_counted_by_kind_and_version,
                steps_keep_the_order_in_which_they_began,
            ];
            inbox: [
                posts_are_read_in_order_of_arrival,
                a_commit_reports_whether_unread_posts_are_left,
                a_commit_consumes_only_posts_of_its_own_agent,
                posts_are_read_by_their_ids,
                an_inbox_takes_no_more_than_a_limit,
                due_wakeups_are_in_order_and_paged,
                a_consumed_wakeup_is_removed,
            ];
            events: [
                each_change_has_its_event,
                events_resume_from_any_cursor,
                each_tree_numbers_its_own_events,
                event_times_never_decrease_within_a_tree_unless_a_clock_was_far_ahead,
                event_numbers_have_no_gaps_under_concurrent_commits,
            ];
            entities: [
                every_field_of_an_entity_reads_back,
                entities_are_found_by_kind_tree_agent_and_status,
                pages_of_entities_go_both_ways,
                a_page_ends_at_the_requested_number_of_bytes,
                search_finds_by_words,
                search_finds_the_best_of_the_latest,
                search_ignores_diacritics_of_latin_letters,
                search_text_is_never_query_syntax,
                search_finds_a_changed_entity_by_its_new_text,
                search_finds_an_entity_of_its_owner_where_it_is,
            ];
            records: [
                records_are_found_by_the_record_that_they_belong_to,
                a_record_below_a_missing_or_foreign_record_is_refused,
                a_name_is_unique_in_its_scope,
                a_record_is_found_by_its_name,
                lists_leave_out_texts_unless_asked,
                what_belongs_to_a_removed_record_is_removed_with_it,
                a_counter_is_never_removed,
                names_and_parents_of_records_have_a_bounded_length,
            ];
            budgets: [
                a_budget_counts_what_is_reserved_and_then_what_was_used,
                a_lost_reservation_of_the_writer_is_gone,
                a_grant_adds_to_a_budget,
                a_grant_beyond_what_can_be_counted_is_refused,
                grants_of_a_commit_are_counted_together,
                a_budget_is_changed_by_its_own_agents_alone,
                a_budget_is_removed_with_its_tree,
                budgets_of_days_long_past_are_removed,
            ];
            grants: [
                a_grant_is_told_with_who_made_it_and_can_be_taken_back,
                grants_and_what_is_taken_back_in_a_commit_are_counted_together,
            ];
            living: [
                an_agent_lives_until_it_has_ended_and_has_nothing_to_read,
                an_agent_that_is_woken_again_needs_room,
                a_tree_gets_no_more_new_agents_than_a_limit,
                sums_stay_exact_when_a_chain_is_removed,
                a_removed_question_is_open_no_more,
                expectations_about_the_end_of_agents_hold_or_refuse,
                who_an_agent_works_for_never_changes,
            ];
            trees: [
                agents_are_found_by_tree_parent_kind_key_and_status,
                stopped_agents_are_found_apart_from_failed_ones,
                agents_are_found_by_their_posts_and_wakeups,
                active_agents_are_found_in_one_query,
                pages_of_agents_go_both_ways,
                a_full_tree_refuses_new_agents,
                too_many_children_are_refused,
            ];
            finding: [
                agents_are_found_by_title_and_by_what_they_wait_for,
                runs_are_found_by_how_they_ended,
                records_are_found_by_when_they_last_changed,
                records_of_months_are_found_by_words_since_a_time,
                events_are_found_by_agent_and_name_between_two_numbers,
                questions_are_read_by_when_they_are_due,
                records_are_found_by_their_number,
            ];
            retention: [
                pruned_events_keep_their_numbers,
                a_pruned_agent_leaves_no_rows,
                a_child_forgotten_in_a_living_tree_leaves_its_events,
                an_event_outlives_the_item_that_it_names,
                a_pruned_entity_is_removed,
                an_activation_removes_the_goal_of_its_agent_and_nothing_else,
                a_tree_with_open_work_is_not_at_rest,
            ];
            forgetting: [
                the_events_of_a_forgotten_agent_have_no_texts,
                the_events_of_a_forgotten_record_have_no_texts,
                events_keep_their_texts_unless_something_is_forgotten,
            ];
            scopes: [
                no_read_shows_another_owners_rows,
            ];
            concurrency: [
                many_writers_see_no_busy_error,
                readers_see_whole_commits,
            ];
            usage: [
                usage_is_summed_by_every_grouping,
                usage_sums_match_the_stored_rows,
                usage_is_summed_by_hour,
            ];
            durable: [
                a_reopened_store_has_the_same_rows_and_numbers,
            ];
        }

        #[test]
        fn any_random_history_reads_as_from_the_memory_store() {
            $crate::conformance::random::any_random_history_reads_as_from_the_memory_store($place);
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
