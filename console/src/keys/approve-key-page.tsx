import { Alert, Code, Stack, Text, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'react-router';
import { takeData } from '../api/client';
import { AccountProvider, useAccount } from '../app/account';
import { AccountSelect } from '../app/account-select';
import { EntryLayout } from '../session/entry-layout';
import { useSession } from '../session/session';
import { mayOpen } from '../app/page-rights';
import { KeyForm, type NewKey } from './key-form';
import { makeReturnAddress, parseKeyRequest, shortenChallenge, type KeyRequest } from './key-request';

/** Scopes that no command of `gwk` needs, so the form does not choose them. */
const OF_SERVERS = ['webhooks:read', 'webhooks:write'];

/** Approves the key that a program on this machine asks for in the fragment of the address. */
export default function ApproveKeyPage() {
  const { t } = useTranslation();
  const { user, accounts } = useSession();
  const request = parseKeyRequest(useLocation().hash);
  const [access, setAccess] = useState(() => accounts.find((one) => mayOpen(one, 'keys')) ?? accounts[0]);
  return (
    <EntryLayout>
      <Title order={1} size="h2">
        {t('approveKey.title')}
      </Title>
      {request ? (
        <>
          <Text className="wrap">{t('approveKey.asks', { name: request.name, email: user.email })}</Text>
          <Stack gap={4}>
            <Text size="sm">{t('approveKey.code')}</Text>
            <Code fz="xl">{shortenChallenge(request.challenge)}</Code>
            <Text size="sm">{t('approveKey.compare')}</Text>
          </Stack>
          <AccountSelect
            label={t('shell.account')}
            current={access}
            onChange={(chosen) => chosen && setAccess(chosen)}
          />
          {access && (
            <AccountProvider access={access}>
              <Approval key={access.id} request={request} />
            </AccountProvider>
          )}
        </>
      ) : (
        <Alert color="yellow" role="alert">
          {t('approveKey.malformed')}
        </Alert>
      )}
    </EntryLayout>
  );
}

function Approval({ request }: { request: KeyRequest }) {
  const { t } = useTranslation();
  const { api, access } = useAccount();
  const { challenge, name } = request;
  const approval = useMutation({
    mutationFn: ({ days, ...key }: NewKey) => {
      const body = { ...key, challenge, expires_in_days: days! };
      return takeData(api.POST('/console/api/key-approvals', { body }));
    },
    onSuccess: ({ code }) => location.assign(makeReturnAddress(request, code)),
  });
  if (approval.data) {
    return (
      <Alert color="teal" role="status">
        {t('approveKey.approved')}
      </Alert>
    );
  }
  const scopes = access.scopes.filter((scope) => !OF_SERVERS.includes(scope));
  return (
    <KeyForm
      initial={{ name, scopes, lifetime: 'quarter' }}
      expires
      label={t('approveKey.approve')}
      attempt={approval}
    />
  );
}
