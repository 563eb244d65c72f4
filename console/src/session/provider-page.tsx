import { Alert, Button, Loader, Title } from '@mantine/core';
import { IconAlertCircle } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useNavigate } from 'react-router';
import { ProblemAlert } from '../ui/problem-alert';
import { CodeForm, findFactors, isProblem } from './code-form';
import { EntryLayout } from './entry-layout';
import { answerProvider, takeReturnPath } from './provider';
import { useSetSession } from './session';
import type { Session } from './session-api';

/** The provider of OpenID Connect sends the browser here. The code in the address is good for one request. */
export default function ProviderPage() {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const setSession = useSetSession();
  const started = useRef(false);
  const enter = (session: Session) => {
    setSession(session);
    void navigate(takeReturnPath(), { replace: true });
  };
  const { mutate, error } = useMutation({ mutationFn: answerProvider, onSuccess: enter });
  useEffect(() => {
    if (started.current) return;
    started.current = true;
    const query = location.search.slice(1);
    history.replaceState(history.state, '', location.pathname);
    mutate(query === '' ? 'none' : query);
  }, [mutate]);
  const factors = findFactors(error);
  return (
    <EntryLayout>
      <Title order={1} size="h2">
        {t(factors ? 'signIn.codeTitle' : 'handoff.title')}
      </Title>
      {factors && (
        <CodeForm factors={factors} done={enter} back={() => void navigate('/', { replace: true })} />
      )}
      {error && !factors && (
        <>
          <ProviderProblem error={error} />
          <Button component={Link} to="/" variant="default">
            {t('provider.again')}
          </Button>
        </>
      )}
      {!error && <Loader role="img" aria-label={t('common.loading')} />}
    </EntryLayout>
  );
}

/** The provider gave nobody, or its answer is not for this browser. There is no e-mail and no password to check. */
function ProviderProblem({ error }: { error: Error }) {
  const { t } = useTranslation();
  if (!isProblem(error, 'invalid-credentials')) return <ProblemAlert error={error} />;
  return (
    <Alert color="orange" icon={<IconAlertCircle />} role="alert" title={t('provider.failedTitle')}>
      {t('provider.failed')}
    </Alert>
  );
}
