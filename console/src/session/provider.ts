import { useQuery } from '@tanstack/react-query';
import { getClient, takeData } from '../api/client';
import { openSession, type Session } from './session-api';

const client = getClient(null);
const RETURN_TO = 'gwk.returnTo';

/** How people sign in to this gateway. */
export const useSignInMethods = () =>
  useQuery({
    queryKey: ['sign-in-methods'],
    queryFn: () => takeData(client.GET('/console/api/session/methods')),
    staleTime: Infinity,
  });

/** Leaves for the page of the provider. @param path page of the console to open afterwards */
export async function visitProvider(path: string): Promise<void> {
  const { url } = await takeData(client.POST('/console/api/session/provider'));
  sessionStorage.setItem(RETURN_TO, path);
  location.assign(url);
}

/** The page that was asked for before the sign-in. The router opens pages of the console only. */
export function takeReturnPath(): string {
  const path = sessionStorage.getItem(RETURN_TO) ?? '/';
  sessionStorage.removeItem(RETURN_TO);
  return /^\/(?!\/)/.test(path) ? path : '/';
}

export const answerProvider = (query: string): Promise<Session> =>
  openSession(takeData(client.POST('/console/api/session/provider/answer', { body: { query } })));
