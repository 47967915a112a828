//! Properties of each part of the state of a run and of its steps.

use proptest::prelude::*;
use unstuck_core::event::{DecisionSource, Exit, Outcome, Purpose, RunResumed, TurnKind};
use unstuck_core::id::{Attempt, Iteration, Seq};
use unstuck_core::state::{
    EvidenceState, Feedback, IterationState, LastSeenWorkspace, SpendingState, TryState, VerdictState,
    WorkspaceChange, WorkspaceState,
};
use unstuck_core::testing::parts::{
    IterationEvent, SpendingEvent, WorkspaceEvent, budgets, calls, checks, evidence, feedbacks,
    iteration_events, iterations, resumes, spending, spending_events, tries, verdict_events, verdicts, waits,
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

    #[test]
    fn the_iteration_never_falls(events in iteration_events()) {
        let mut state = IterationState::default();
        let mut begun = 0;
        for event in &events {
            let before = state.clone();
            event.fold(&mut state);
            begun += u32::from(matches!(event, IterationEvent::IterationBegan));
            prop_assert!(state.number >= before.number, "{event:?}");
            // The event in which the work ended is forgotten with the iteration, and at no other time.
            let is_forgotten = before.worked.is_some() && state.worked.is_none();
            prop_assert!(!is_forgotten || state.number > before.number, "{event:?}");
        }
        prop_assert_eq!(state.number, Iteration(begun));
    }

    #[test]
    fn an_iteration_begins_with_attempt_1_of_the_work(mut state in iterations()) {
        let next = state.number.next();
        state.begin_iteration();
        let expected = IterationState { number: next, attempt: Attempt(1), ..IterationState::default() };
        prop_assert_eq!(state, expected);
    }

    #[test]
    fn an_attempt_that_ended_is_not_current(mut state in iterations()) {
        let (number, attempt) = (state.number, state.attempt);
        prop_assert!(state.is_at(number, attempt));
        state.begin_work();
        state.end_attempt();
        prop_assert!(!state.is_at(number, attempt) && state.is_at(number, attempt.next()));
        prop_assert_eq!(state.work_attempt, attempt);
    }

    #[test]
    fn a_request_for_a_check_changes_only_the_attempt(state in iterations(), attempt in any::<u32>()) {
        let mut after = state.clone();
        after.request_check(Attempt(attempt));
        prop_assert_eq!(after, IterationState { attempt: Attempt(attempt), ..state });
    }

    #[test]
    fn a_diagnosis_leaves_the_end_of_the_work(mut state in iterations(), seq in any::<u64>()) {
        state.end_work(Seq(seq));
        state.request_work(Attempt(7), Purpose::Diagnosis);
        state.begin_work();
        state.end_attempt();
        prop_assert_eq!((state.worked, state.work_attempt), (Some(Seq(seq)), Attempt(7)));
    }

    #[test]
    fn spending_is_the_sum_over_calls_and_child_runs_and_never_falls(events in spending_events()) {
        let mut state = SpendingState::default();
        let (mut calls, mut micro_usd, mut tokens) = (0, 0, 0);
        for event in &events {
            let before = state.ledger.spent();
            event.fold(&mut state);
            match event {
                SpendingEvent::CallEnded(report) => {
                    calls += 1;
                    let report = report.as_deref();
                    micro_usd += report.and_then(|report| report.cost).map_or(0, |cost| cost.micro_usd);
                    tokens += report.and_then(|report| report.usage).map_or(0, |usage| usage.input);
                }
                SpendingEvent::ChildEnded(_, more) => calls += more.calls,
                SpendingEvent::Resumed(_) => {}
            }
            let now = state.ledger.spent();
            prop_assert_eq!((now.calls, now.micro_usd(), now.tokens.total()), (calls, micro_usd, tokens));
            prop_assert!(now.cost_unknown() >= before.cost_unknown(), "{event:?}");
            prop_assert!(now.tokens_unknown >= before.tokens_unknown, "{event:?}");
        }
    }

    #[test]
    fn an_added_budget_never_lowers_a_limit(state in spending(), configured in budgets(), order in resumes()) {
        let mut after = state.clone();
        after.resume(&RunResumed { allowance: Some(state.allowance), ..order });
        let (before, now) = (state.budget(configured), after.budget(configured));
        // A missing limit stays missing.
        prop_assert!(before.micro_usd.is_none_or(|limit| now.micro_usd.is_some_and(|now| now >= limit)));
        prop_assert_eq!(before.micro_usd.is_none(), now.micro_usd.is_none());
        prop_assert!(before.tokens.is_none_or(|limit| now.tokens.is_some_and(|now| now >= limit)));
        prop_assert_eq!(before.tokens.is_none(), now.tokens.is_none());
        prop_assert!(now.accepts_unknown >= before.accepts_unknown);
        prop_assert_eq!(after.ledger, state.ledger);
    }

    #[test]
    fn no_limit_is_above_the_allowance(mut state in spending(), configured in budgets(), order in resumes()) {
        state.resume(&order);
        let (limits, allowance) = (state.budget(configured), order.allowance.unwrap_or_default());
        prop_assert!(allowance.micro_usd.is_none_or(|most| limits.micro_usd.is_some_and(|limit| limit <= most)));
        prop_assert!(allowance.tokens.is_none_or(|most| limits.tokens.is_some_and(|limit| limit <= most)));
    }
}
