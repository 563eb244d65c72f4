import { findProgramName } from './program-name.js';

test.each([
  [['gwk', '/usr/bin/gwk'], 'gwk'],
  [['node', '/usr/local/bin/kubectl-gwk'], 'kubectl-gwk'],
  [['/home/ana/.krew/bin/kubectl-gwk', undefined], 'kubectl-gwk'],
  [['kubectl-gwk.exe', 'kubectl-gwk.exe'], 'kubectl-gwk'],
  [['node', '/work/kubectl-gwk/main.js'], 'gwk'],
  [[undefined], 'gwk'],
])('%j runs %s', (words, name) => {
  expect(findProgramName(words)).toBe(name);
});
