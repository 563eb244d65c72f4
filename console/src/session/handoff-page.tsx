import { Button, Loader, Text, Title } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useNavigate } from 'react-router';
import { findStartPage } from '../app/navigation';
import { ProblemAlert } from '../ui/problem-alert';
import { CodeForm, findFactors } from './code-form';
import { EntryLayout } from './entry-layout';
import { useSessionQuery, useSetSession } from './session';
import { redeemHandoff, showHandoff, type Session } from './session-api';

/** Signs in with the one-time token in the fragment of the address, which browsers send to no server. */
export default function HandoffPage() {
  const { t } = useTranslation();
  const [fragment] = useState(() => new URLSearchParams(location.hash.slice(1)));
  const { data, error, refetch } = useSessionQuery();
  useEffect(() => history.replaceState(history.state, '', location.pathname), []);
  if (data !== undefined) return <Handoff fragment={fragment} session={data} />;
  if (!error) return <Loader role="img" aria-label={t('common.loading')} />;
  // There may be a session, which the link would end without a question.
  return (
    <EntryLayout>
      <Title order={1} size="h2">
        {t('handoff.title')}
      </Title>
      <ProblemAlert error={error} />
      <Button onClick={() => void refetch()}>{t('common.retry')}</Button>
    </EntryLayout>
  );
}

/**
 * Somebody else may have sent the link, to lead the person into another user unnoticed. So the page asks before the session
 * of another person ends.
 */
function Handoff({ fragment, session }: { fragment: URLSearchParams; session: Session | null }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const setSession = useSetSession();
  // The sign-in changes the session.
  const [former] = useState(session);
  const [isAgreed, setAgreed] = useState(false);
  const started = useRef(false);
  const token = fragment.get('token') ?? '';
  const enter = (opened: Session) => {
    setSession(opened);
    // Only an account of the person, so that a link leads nowhere else.
    const access = opened.accounts.find(({ id }) => id === fragment.get('account'));
    void navigate(access ? `/${access.id}/${findStartPage(access)}` : '/', { replace: true });
  };
  const { mutate, error: refusal } = useMutation({ mutationFn: redeemHandoff, onSuccess: enter });
  const person = useQuery({
    queryKey: ['handoff', token],
    queryFn: () => showHandoff(token),
    enabled: former !== null,
    staleTime: Infinity,
    retry: false,
  });
  const isDue = former === null || isAgreed || person.data?.email === former.user.email;
  useEffect(() => {
    // The token is good for one request, and React may run effects twice.
    if (!isDue || started.current) return;
    started.current = true;
    mutate(token);
  }, [isDue, mutate, token]);
  const error = refusal ?? person.error;
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
  if (former && person.data && !isDue) {
    const emails = { former: former.user.email, email: person.data.email };
    return <Question {...emails} agree={() => setAgreed(true)} />;
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
        <Loader role="img" aria-label={t('common.loading')} />
      )}
    </EntryLayout>
  );
}

interface QuestionProps {
  former: string;
  email: string;
  agree: () => void;
}

function Question({ former, email, agree }: QuestionProps) {
  const { t } = useTranslation();
  return (
    <EntryLayout>
      <Title order={1} size="h2">
        {t('handoff.other')}
      </Title>
      <Text>{t('handoff.question', { former, email })}</Text>
      <Button onClick={agree}>{t('handoff.continue', { email })}</Button>
      <Button component={Link} to="/" variant="default">
        {t('handoff.stay', { email: former })}
      </Button>
    </EntryLayout>
  );
}
