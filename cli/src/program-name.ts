import { basename } from 'node:path';

export type ProgramName = 'gwk' | 'kubectl-gwk';

/**
 * kubectl starts its plugin `gwk` as `kubectl-gwk`. `words` are the paths by which the program was started: of the
 * executable and of the script.
 */
export function findProgramName(words: readonly (string | undefined)[]): ProgramName {
  const names = words.map((word) => basename(word ?? '').replace(/\.(exe|js)$/, ''));
  return names.includes('kubectl-gwk') ? 'kubectl-gwk' : 'gwk';
}
