// jest-light-runner, whose child processes all get what they ask for at their start.
import createRunner from 'jest-light-runner';
import Tinypool from 'tinypool';

const run = Tinypool.prototype.run;

/**
 * The runner keeps one list of the child processes that run something. It answers the first that asks, and with it
 * all that are on the list, some of which do not listen yet: these lost the answer, got no other, and waited for ever.
 * So a child process is put on the list only when it asks.
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
