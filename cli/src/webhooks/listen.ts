import { addCommand, note, openGateway, print, renderJson, type CommonOptions } from '../command.js';
import { followEvents } from '../gateway/follow-events.js';
import { describeVersions, readServerVersion } from '../gateway/server-version.js';
import type { FollowQuery, Gwk, GwkEvent } from '@gwk/client';
import type { Command } from 'commander';
import { chooseAccess, readProfiles } from '../profiles/profiles.js';
import { readKeys, type KeyAction } from './keys.js';
import { chooseSecret, describePost, parseTarget, postEvent } from './post.js';

/** Events that can be sent again. */
const KEPT = 100;

interface ListenOptions extends CommonOptions {
  forwardTo: string;
  type?: string;
}

export function registerListen(webhooks: Command): void {
  addCommand(webhooks, 'listen', 'post events to a program on this machine, signed as webhooks are')
    .requiredOption('--forward-to <url>', 'address of the program, e.g. http://localhost:3000', parseTarget)
    .option('--type <type>', 'only events of this type')
    .addHelpText(
      'after',
      '\nGWK_WEBHOOK_SECRET sets the secret (whsec_...); else each run makes one and prints it.\n',
    )
    .action(listen);
}

async function listen({ forwardTo, type, ...options }: ListenOptions): Promise<void> {
  const secret = chooseSecret(process.env);
  const gateway = openGateway(options);
  const remark = describeVersions(
    await readServerVersion(chooseAccess(readProfiles(), process.env, options.profile)),
  );
  if (remark !== null) note(remark);
  const forwarder = new Forwarder(forwardTo, secret, options.json === true);
  note(`Forwarding to ${forwardTo}. Keys: r resends the last event, a number and Enter that one, q ends.`);
  try {
    await Promise.race([forwardAll(gateway, type, forwarder), followKeys(forwarder)]);
  } finally {
    // An open standard input would keep the program alive.
    if (process.stdin.isTTY) process.stdin.setRawMode(false);
    process.stdin.destroy();
  }
  process.exit();
}

async function forwardAll(gateway: Gwk, type: string | undefined, forwarder: Forwarder): Promise<void> {
  // The gateway refuses an unknown type.
  for await (const event of followEvents(gateway, { type } as FollowQuery)) await forwarder.forward(event);
}

/** Posts events one after another, and keeps the newest. */
class Forwarder {
  readonly #kept = new Map<number, GwkEvent>();
  #last = 0;

  constructor(
    readonly target: string,
    readonly secret: string,
    readonly json: boolean,
  ) {}

  async forward(event: GwkEvent): Promise<void> {
    this.#last += 1;
    this.#kept.set(this.#last, event);
    this.#kept.delete(this.#last - KEPT);
    await this.#post(this.#last, event);
  }

  async resend(number: number | null): Promise<void> {
    const wanted = number ?? this.#last;
    const event = this.#kept.get(wanted);
    if (event) await this.#post(wanted, event);
    else note(wanted === 0 ? 'There is no event yet' : `Event ${wanted} is not among the last ${KEPT}`);
  }

  async #post(number: number, event: GwkEvent): Promise<void> {
    const result = await postEvent(this.target, this.secret, event);
    const { id, type } = event;
    print(
      this.json ? renderJson({ number, id, type, ...result }) : `${number}  ${describePost(event, result)}`,
    );
  }
}

/** Ends when the user quits. Without a terminal the keys come by lines. */
async function followKeys(forwarder: Forwarder): Promise<void> {
  if (process.stdin.isTTY) process.stdin.setRawMode(true);
  let pending = '';
  for await (const chunk of process.stdin) {
    const read = readKeys(pending, String(chunk));
    pending = read.pending;
    if (await runKeys(forwarder, read.actions)) return;
  }
  // Standard input has ended; the events go on.
  await new Promise(() => undefined);
}

async function runKeys(forwarder: Forwarder, actions: readonly KeyAction[]): Promise<boolean> {
  for (const action of actions) {
    if (action.do === 'quit') return true;
    await forwarder.resend(action.number);
  }
  return false;
}
