import { Button, Loader, Text, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useNavigate } from 'react-router';
import { findStartPage } from '../app/navigation';
import { ProblemAlert } from '../ui/problem-alert';
import { CodeForm, findFactors } from './code-form';
import { EntryLayout } from './entry-layout';
import { useSetSession } from './session';
import { redeemHandoff, type Session } from './session-api';

/** Signs in with the one-time token in the fragment of the address, which browsers send to no server. */
export default function HandoffPage() {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const setSession = useSetSession();
  const started = useRef(false);
  const [fragment] = useState(() => new URLSearchParams(location.hash.slice(1)));
  const enter = (session: Session) => {
    setSession(session);
    // Only an account of the person, so that a link leads nowhere else.
    const access = session.accounts.find(({ id }) => id === fragment.get('account'));
    void navigate(access ? `/${access.id}/${findStartPage(access)}` : '/', { replace: true });
  };
  const { mutate, error } = useMutation({
    mutationFn: redeemHandoff,
    onSuccess: enter,
  });
  useEffect(() => {
    // The token is good for one request, and React may run effects twice.
    if (started.current) return;
    started.current = true;
    history.replaceState(history.state, '', location.pathname);
    mutate(fragment.get('token') ?? '');
  }, [mutate, fragment]);
  const factors = findFactors(error);
  if (factors) {
    return (
      <EntryLayout>
        <Title order={1} size="h2">
          {t('signIn.codeTitle')}
        </Title>
        <CodeForm factors={factors} done={enter} back={() => void navigate('/', { replace: true })} />
      </EntryLayout>
    );
  }
  return (
    <EntryLayout>
      <Title order={1} size="h2">
        {t('handoff.title')}
      </Title>
      {error ? (
        <>
          <ProblemAlert error={error} />
          <Text>{t('handoff.failed')}</Text>
          <Button component={Link} to="/" variant="default">
            {t('handoff.signIn')}
          </Button>
        </>
      ) : (
        <Loader aria-label={t('common.loading')} />
      )}
    </EntryLayout>
  );
}
