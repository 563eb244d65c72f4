/**
 * Silences the console of the engine. libsignal writes whole sessions, private keys included, to the console when
 * it opens or closes one, and offers no setting against it. The engine logs through its logger only. Import this
 * before anything that loads libsignal.
 */
const LEVELS = ['debug', 'error', 'info', 'log', 'trace', 'warn'] as const;

export function silenceConsole(target: Pick<Console, (typeof LEVELS)[number]> = console): void {
  for (const level of LEVELS) target[level] = () => undefined;
}

silenceConsole();
