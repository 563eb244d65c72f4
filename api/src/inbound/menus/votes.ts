/**
 * Difference between two votes of one voter. The network sends the whole selection each time; gwk reports each option
 * that was selected or withdrawn. The numbers are positions of options in the poll.
 */
export function diffVote(before: readonly number[], now: readonly number[]) {
  const [old, present] = [new Set(before), new Set(now)];
  return {
    withdrawn: [...old].filter((position) => !present.has(position)),
    chosen: [...present].filter((position) => !old.has(position)),
  };
}

/**
 * @returns the selection after a tap on one option: a second tap deselects it; in a poll with one choice, the tap moves
 * it
 */
export function toggleOption(before: readonly number[], position: number, selectable: number): number[] {
  if (before.includes(position)) return before.filter((other) => other !== position);
  return selectable === 1 ? [position] : [...before, position].sort((a, b) => a - b);
}
