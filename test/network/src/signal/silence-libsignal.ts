/**
 * libsignal prints whole sessions, including private keys, to the console when it opens or closes one. Importing this
 * file suppresses that in the whole process, for the network and for clients in tests.
 */
const OURS = Symbol.for('gwk.network.quiet');
const SAYS =
  /^(Closing|Opening|Removing old closed|Migrating) session|^Session (already|error)|^Decrypted message with|^Failed to decrypt message|session in favor of/;

type Say = (...args: unknown[]) => void;
type Marked = Say & { [OURS]?: true };

for (const level of ['info', 'warn', 'error'] as const) {
  const { [level]: say } = console as unknown as Record<typeof level, Marked>;
  if (say[OURS]) continue;
  const quiet: Marked = (...args) => {
    if (typeof args[0] === 'string' && SAYS.test(args[0])) return;
    say.apply(console, args);
  };
  quiet[OURS] = true;
  console[level] = quiet;
}

export {};
