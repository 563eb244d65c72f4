import { createContext, useContext, useMemo, type ReactNode } from 'react';
import type { Gwk } from '@gwk/client';
import { createGwk, getClient, type Api } from '../api/client';
import { allows, type Right } from '../session/session';
import type { AccountAccess } from '../session/session-api';

/** The account of the page: from the address, with what the user may do in it. */
export interface Account {
  id: string;
  access: AccountAccess;
  /** Operations of the console. */
  api: Api;
  /** The public interface, with the rights of the session. */
  gwk: Gwk;
  can: (right: Right) => boolean;
  /** The address of a page of this account. */
  path: (page: string) => string;
}

const AccountContext = createContext<Account | null>(null);

export function AccountProvider({ access, children }: { access: AccountAccess; children: ReactNode }) {
  const account = useMemo<Account>(
    () => ({
      id: access.id,
      access,
      api: getClient(access.id),
      gwk: createGwk(access.id),
      can: (right) => allows(access, right),
      path: (page) => `/${access.id}/${page}`,
    }),
    [access],
  );
  return <AccountContext value={account}>{children}</AccountContext>;
}

export function useAccount(): Account {
  const account = useContext(AccountContext);
  if (!account) throw new Error('no account');
  return account;
}
