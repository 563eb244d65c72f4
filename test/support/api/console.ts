import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import type { Role } from '@gwk/api/roles';
import type { SessionOut } from '@gwk/api/resources/console/session';
import { Passwords } from '@gwk/api/people/passwords';
import { deriveCsrfToken, hashToken, newToken } from '@gwk/api/accounts/sessions';
import type { Answer, Sending } from './client.js';
import type { TestAccount, TestApi } from './test-api.js';

export const PASSWORD = 'seven blue horses';
const DAY_MS = 86_400_000;
let hashed: Promise<string> | undefined;

export interface TestUser {
  id: string;
  email: string;
}

/** Creates a user with the password PASSWORD. */
export async function createUser(api: TestApi, more: { isPlatformAdmin?: boolean } = {}): Promise<TestUser> {
  const id = newUuid();
  const email = `user-${id}@example.org`;
  const passwordHash = await (hashed ??= new Passwords().hash(PASSWORD));
  await api.db.user.create({ data: { id, email, name: 'Ana', passwordHash, ...more } });
  return { id, email };
}

/** @param instances UUIDs of the instances that the member may use; default: all */
export async function addMember(
  api: TestApi,
  account: TestAccount,
  { userId, role, instances }: { userId: string; role: Role; instances?: string[] },
): Promise<void> {
  await api.db.member.create({
    data: {
      accountId: account.id,
      userId,
      role,
      restricted: instances !== undefined,
      instances: { create: (instances ?? []).map((instanceId) => ({ instanceId })) },
    },
  });
}

/** A browser with the console open at the public address of the API. */
export class Browser {
  readonly headers: Record<string, string> = { origin: 'http://127.0.0.1:8080' };

  constructor(
    readonly api: Pick<TestApi, 'client' | 'port'>,
    readonly port = api.port,
  ) {}

  async call<T>(method: string, path: string, sending: Sending = {}): Promise<Answer<T>> {
    const headers = { ...this.headers, ...sending.headers };
    const answer = await this.api.client(null, this.port).call<T>(method, path, { ...sending, headers });
    const [cookie] = answer.headers['set-cookie'] ?? [];
    if (cookie !== undefined) this.headers['cookie'] = cookie.split(';')[0]!;
    return answer;
  }

  /** Keeps the CSRF token of a session that the answer contains. */
  #keep(answer: Answer<SessionOut>): Answer<SessionOut> {
    if (answer.status === 200) this.headers['x-csrf-token'] = answer.body.csrf_token;
    return answer;
  }

  /** Calls an operation that answers with a session. */
  async open(path: string, body: unknown): Promise<Answer<SessionOut>> {
    return this.#keep(await this.call<SessionOut>('POST', `/console/api/session${path}`, { body }));
  }

  signIn(email: string, password = PASSWORD): Promise<Answer<SessionOut>> {
    return this.open('', { email, password });
  }

  /** Names the account of later requests. */
  use({ id }: { id: string }): this {
    this.headers['x-gwk-account'] = toPublicId('account', id);
    return this;
  }
}

/** A browser in which a new member of the account is signed in. */
export async function openBrowser(
  api: TestApi,
  account: TestAccount,
  role: Role = 'owner',
  instances?: string[],
): Promise<Browser & { user: TestUser }> {
  const user = await createUser(api);
  await addMember(api, account, { userId: user.id, role, ...(instances && { instances }) });
  const browser = await browserOf(api, user);
  browser.use(account);
  return browser;
}

/** A browser with a session of a user, without the sign-in, which costs a password hash. */
export async function browserOf(api: TestApi, user: TestUser): Promise<Browser & { user: TestUser }> {
  const token = newToken();
  await api.db.userSession.create({
    data: {
      id: newUuid(),
      userId: user.id,
      tokenHash: hashToken(token),
      address: '127.0.0.1',
      userAgent: 'test',
      expiresAt: new Date(Date.now() + DAY_MS),
    },
  });
  const browser = new Browser(api);
  browser.headers['cookie'] = `gwk_session=${token}`;
  browser.headers['x-csrf-token'] = deriveCsrfToken(token);
  return Object.assign(browser, { user });
}
