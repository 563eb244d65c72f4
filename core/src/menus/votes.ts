/**
 * What a vote changes. The network tells the whole choice of a voter each time; consumers are told each option that
 * was chosen, and each that was withdrawn. Options are named by their places in the poll.
 */
interface VoteChange {
  chosen: number[];
  withdrawn: number[];
}

export function diffVote(before: readonly number[], now: readonly number[]): VoteChange {
  const [old, present] = [new Set(before), new Set(now)];
  return {
    withdrawn: [...old].filter((place) => !present.has(place)),
    chosen: [...present].filter((place) => !old.has(place)),
  };
}

/**
 * The choice after a tap on one option: a second tap takes the mark away; where only one may be marked, the tap moves it.
 */
export function toggleOption(before: readonly number[], place: number, selectable: number): number[] {
  if (before.includes(place)) return before.filter((other) => other !== place);
  return selectable === 1 ? [place] : [...before, place].sort((a, b) => a - b);
}
