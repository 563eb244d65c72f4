/**
 * libsignal writes whole sessions, private keys included, to the console whenever it opens or closes one. An engine
 * logs through its logger and nothing else, so from here on its console says nothing. To be imported before anything
 * that loads libsignal, which takes no other measure against it.
 */
const LEVELS = ['debug', 'error', 'info', 'log', 'trace', 'warn'] as const;

export function silenceConsole(target: Pick<Console, (typeof LEVELS)[number]> = console): void {
  for (const level of LEVELS) target[level] = () => undefined;
}

silenceConsole();
