import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { setUnauthorizedHandler } from '../api/client';
import { readSession, type AccountAccess, type Session } from './session-api';

const KEY = ['session'];
export const SESSION_QUERY = { queryKey: KEY, queryFn: readSession };
/** A changed role shows after this time without a reload. */
const RENEW_MS = 60_000;

/** The session query: undefined data while loading, null without a session. */
export function useSessionQuery() {
  const client = useQueryClient();
  useEffect(() => {
    setUnauthorizedHandler(() => client.setQueryData(KEY, null));
  }, [client]);
  return useQuery({ ...SESSION_QUERY, refetchInterval: RENEW_MS, retry: 1 });
}

/** Replaces the session after sign-in and sign-out. Data of the former one is dropped. */
export function useSetSession(): (session: Session | null) => void {
  const client = useQueryClient();
  return (session) => {
    client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== KEY[0] });
    client.setQueryData(KEY, session);
  };
}

export function useSession(): Session {
  const session = useSessionQuery().data;
  if (!session) throw new Error('no session');
  return session;
}

/** A scope of the HTTP interface, or a right that only members have. */
export type Right = AccountAccess['scopes'][number] | AccountAccess['permissions'][number];

export const allows = ({ scopes, permissions }: AccountAccess, right: Right): boolean =>
  [...scopes, ...permissions].includes(right);

/** Whether the account, or the gateway, requires a second factor that the user does not have: only the profile is open. */
export const lacksSecondFactor = (session: Session, access?: AccountAccess): boolean =>
  (session.requires_mfa || access?.requires_mfa === true) &&
  !session.user.has_totp &&
  !session.user.has_passkey;
