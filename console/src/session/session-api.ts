import { ApiError } from '@gwk/client';
import { getClient, setCsrfToken, takeData } from '../api/client';
import type { components } from '../generated/api';

export type Session = components['schemas']['SessionOut'];
export type AccountAccess = components['schemas']['SessionAccount'];

const client = getClient(null);

/** Keeps the CSRF token of a session that an answer contains. */
export async function openSession(answer: Promise<Session>): Promise<Session> {
  const session = await answer;
  setCsrfToken(session.csrf_token);
  return session;
}

/** Returns the current session, or null without one. */
export async function readSession(): Promise<Session | null> {
  try {
    return await openSession(takeData(client.GET('/console/api/session')));
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return null;
    throw error;
  }
}

export const signIn = (email: string, password: string): Promise<Session> =>
  openSession(takeData(client.POST('/console/api/session', { body: { email, password } })));

export const redeemHandoff = (token: string): Promise<Session> =>
  openSession(takeData(client.POST('/console/api/session/handoff', { body: { token } })));

/** The person whom a one-time link signs in. The link stays usable. */
export const showHandoff = (token: string): Promise<components['schemas']['HandoffPerson']> =>
  takeData(client.POST('/console/api/session/handoff/person', { body: { token } }));

/** Accounts that the user may use, by a part of their names or by id. */
export const findAccounts = async (search: string): Promise<AccountAccess[]> =>
  (await takeData(client.GET('/console/api/session/accounts', { params: { query: { search } } }))).data;

/** Completes a sign-in that was answered with `mfa-required`. */
export const confirmCode = (code: string): Promise<Session> =>
  openSession(takeData(client.POST('/console/api/session/code', { body: { code } })));

type Acceptance = components['schemas']['InvitationAccept'];

export const acceptInvitation = (body: Acceptance): Promise<Session> =>
  openSession(takeData(client.POST('/console/api/invitations/accept', { body })));

export async function signOut(): Promise<void> {
  await client.DELETE('/console/api/session');
}
