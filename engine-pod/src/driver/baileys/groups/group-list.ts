import type { WASocket } from '@whiskeysockets/baileys';
import type { Clock } from '@gwk/core/clock';
import type { GroupOut } from '@gwk/core/resources/group';
import { SendFailure } from '../../driver.js';
import { viewGroup } from './view.js';

/** The network answers with all members of all groups, so the pages of a list and their repetition share an answer. */
const KEPT_MS = 60_000;

/** All groups of the number, without their members. */
export class GroupList {
  readonly #socket: Pick<WASocket, 'groupFetchAllParticipating'>;
  readonly #isOwn: (jid: string) => boolean;
  readonly #clock: Clock;
  #groups: Promise<GroupOut[]> | undefined;
  #askedAt = 0;

  constructor(
    socket: Pick<WASocket, 'groupFetchAllParticipating'>,
    isOwn: (jid: string) => boolean,
    clock: Clock,
  ) {
    this.#socket = socket;
    this.#isOwn = isOwn;
    this.#clock = clock;
  }

  /** @throws SendFailure */
  read(): Promise<GroupOut[]> {
    const now = this.#clock.now();
    if (this.#groups && now - this.#askedAt < KEPT_MS) return this.#groups;
    this.#askedAt = now;
    this.#groups = this.#ask();
    this.#groups.catch(() => (this.#groups = undefined));
    return this.#groups;
  }

  async #ask(): Promise<GroupOut[]> {
    const found = await this.#socket.groupFetchAllParticipating().catch(() => {
      throw SendFailure.notWritten();
    });
    return Object.values(found).map((group) => viewGroup(group, this.#isOwn));
  }
}
