// jest-light-runner with a fix: every child process receives the answer to its first request.
import createRunner from 'jest-light-runner';
import Tinypool from 'tinypool';

const run = Tinypool.prototype.run;

/**
 * The runner keeps a list of busy child processes. It answers the first request to all processes on the list, also to
 * those that do not listen yet; these lose the answer and wait forever. So add a child process only when it asks.
 */
Tinypool.prototype.run = function runWithOwnChannel(task, options) {
  const shared = options?.channel;
  if (shared === undefined) return run.call(this, task, options);
  let answer;
  const channel = {
    onMessage: (listener) => (answer = listener),
    postMessage(message) {
      shared.onMessage(answer);
      shared.postMessage(message);
    },
  };
  return run.call(this, task, { ...options, channel });
};

export default createRunner;
