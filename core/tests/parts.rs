//! Properties of each part of the state of a step.

use proptest::prelude::*;
use unstuck_core::event::{DecisionSource, Exit, Outcome, TurnKind};
use unstuck_core::id::Iteration;
use unstuck_core::state::{
    EvidenceState, Feedback, LastSeenWorkspace, TryState, VerdictState, WorkspaceChange, WorkspaceState,
};
use unstuck_core::testing::parts::{
    WorkspaceEvent, calls, checks, evidence, feedbacks, tries, verdict_events, verdicts, waits,
    workspace_events, workspaces,
};

proptest! {
    #[test]
    fn a_change_of_the_workspace_is_never_taken_back(events in workspace_events()) {
        let mut state = WorkspaceState::default();
        let mut largest = WorkspaceChange::No;
        for event in &events {
            event.fold(&mut state);
            if let WorkspaceEvent::WorkEnded(changed) = event {
                largest = largest.max((*changed).into());
            }
            prop_assert!(state.changed >= largest, "{event:?}");
        }
    }

    #[test]
    fn work_that_has_ended_leaves_no_lost_attempt(mut state in workspaces()) {
        WorkspaceEvent::WorkEnded(None).fold(&mut state);
        prop_assert!(state.lost_work.is_empty() && state.works_from.is_none());
    }

    #[test]
    fn a_file_that_only_checks_write_stays_theirs(mut state in workspaces(), changed in any::<Option<bool>>()) {
        WorkspaceEvent::WorkEnded(Some(false)).fold(&mut state);
        WorkspaceEvent::CheckEnded(true).fold(&mut state);
        WorkspaceEvent::WorkEnded(changed).fold(&mut state);
        prop_assert!(state.by_checks.contains("report.xml") && state.checks_changed.contains("report.xml"));
    }

    #[test]
    fn only_what_others_changed_between_turns_is_a_gap(mut state in workspaces(), left in 0..4_u8, found in 0..4_u8) {
        WorkspaceEvent::WorkBegan(Some(left), false).fold(&mut state);
        let before = state.gaps.len();
        WorkspaceEvent::TurnEnded(left).fold(&mut state);
        prop_assert!(matches!(state.left, LastSeenWorkspace::Seen(_)));
        WorkspaceEvent::WorkBegan(Some(found), false).fold(&mut state);
        prop_assert_eq!(state.gaps.len() - before, usize::from(left != found));
    }

    #[test]
    fn a_failure_is_counted_at_most_once_for_each_verdict(events in verdict_events()) {
        let mut state = VerdictState::default();
        for (number, (fingerprints, source)) in (1..).zip(&events) {
            state.count(fingerprints, *source);
            prop_assert!(state.occurrences.values().all(|count| (1..=number).contains(count)));
            prop_assert!(fingerprints.iter().all(|fingerprint| state.occurrences.contains_key(fingerprint)));
        }
    }

    #[test]
    fn a_verdict_without_failures_leaves_none(mut state in verdicts()) {
        state.count(&[], DecisionSource::Validators);
        prop_assert!(state.occurrences.is_empty());
    }

    #[test]
    fn every_wait_is_counted_once(waits in waits()) {
        let mut state = TryState::default();
        waits.iter().for_each(|(why, now)| state.waits(*why, *now));
        let jobs = waits.iter().filter(|(why, _)| *why == unstuck_core::event::WaitReason::ExternalJob);
        let first = jobs.clone().map(|(_, now)| *now).next();
        let counted = (state.work + state.check + state.outage) as usize;
        prop_assert_eq!(counted + jobs.count(), waits.len());
        prop_assert_eq!(state.waiting_since, first);
    }

    #[test]
    fn an_iteration_begins_with_no_tries(mut state in tries(), extra in any::<u32>()) {
        state.extra_iterations = extra;
        state.begin_iteration();
        prop_assert_eq!(state, TryState { extra_iterations: extra, ..TryState::default() });
    }

    #[test]
    fn the_newest_two_results_are_kept_and_the_baseline_stays(checks in checks(), state in evidence()) {
        let mut after: EvidenceState = state;
        for (iteration, results) in &checks {
            let before = after.clone();
            after.record_check(*iteration, results);
            if *iteration == Iteration::BASELINE {
                prop_assert_eq!(&after.results, &before.results);
            } else {
                prop_assert_eq!(&after.baseline, &before.baseline);
                prop_assert_eq!(&after.results[1], &before.results[0]);
            }
        }
    }

    #[test]
    fn a_fallback_changes_one_chain(state in calls(), to in any::<u32>()) {
        let mut after = state.clone();
        after.switch_to(TurnKind::Check, to);
        prop_assert_eq!((after.worker_at, after.checker_at), (state.worker_at, to));
    }

    #[test]
    fn feedback_is_bounded_whatever_is_printed(mut state in feedbacks(), text in "(?s).{0,9000}") {
        state.record_worker_message(&text);
        state.record_check_output(&Outcome { answer: text, ..Outcome::from_exit(Exit::Code(1)) });
        prop_assert!(state.said.len() <= Feedback::SAID_MAX && state.output.len() <= Feedback::OUTPUT_MAX);
    }
}
