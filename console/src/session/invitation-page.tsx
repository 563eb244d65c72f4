import { Button, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { useNavigate } from 'react-router';
import { ProblemAlert } from '../ui/problem-alert';
import { isProblem } from './code-form';
import { EntryLayout } from './entry-layout';
import { useSignInMethods } from './provider';
import { ProviderButton } from './provider-button';
import { useSessionQuery, useSetSession } from './session';
import { acceptInvitation } from './session-api';
import { SignInPage } from './sign-in-page';

/** Accepts the invitation in the fragment of the address. A person without a session sets name and password. */
export default function InvitationPage() {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const setSession = useSetSession();
  const session = useSessionQuery().data;
  const [token] = useState(() => new URLSearchParams(location.hash.slice(1)).get('token') ?? '');
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const attempt = useMutation({
    mutationFn: () => acceptInvitation(session ? { token } : { token, name: name.trim(), password }),
    onSuccess: (opened) => {
      setSession(opened);
      void navigate('/', { replace: true });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    attempt.mutate();
  };
  const [signsIn, setSignsIn] = useState(false);
  const { password: hasPasswords = true, provider = null } = useSignInMethods().data ?? {};
  if (signsIn && !session) return <SignInPage />;
  if (!session && !hasPasswords && provider) return <ProviderInvitation name={provider.name} />;
  return (
    <EntryLayout>
      <Title order={1} size="h2">
        {t('invitation.title')}
      </Title>
      <Text size="sm">
        {session ? t('invitation.signedIn', { email: session.user.email }) : t('invitation.help')}
      </Text>
      <form onSubmit={submit}>
        <Stack>
          {!session && (
            <>
              <TextInput
                label={t('common.name')}
                autoComplete="name"
                required
                maxLength={80}
                value={name}
                onChange={(event) => setName(event.currentTarget.value)}
              />
              <PasswordInput
                label={t('signIn.password')}
                description={t('profile.nextHelp')}
                autoComplete="new-password"
                required
                minLength={12}
                value={password}
                onChange={(event) => setPassword(event.currentTarget.value)}
              />
            </>
          )}
          <ProblemAlert error={attempt.error} />
          {isProblem(attempt.error, 'user-exists') && (
            <Button
              variant="default"
              onClick={() => {
                attempt.reset();
                setSignsIn(true);
              }}
            >
              {t('signIn.submit')}
            </Button>
          )}
          <Button type="submit" loading={attempt.isPending} fullWidth>
            {t('invitation.accept')}
          </Button>
        </Stack>
      </form>
    </EntryLayout>
  );
}

/** Without passwords the sign-in with the provider accepts the invitation of a person without an account. */
function ProviderInvitation({ name }: { name: string }) {
  const { t } = useTranslation();
  return (
    <EntryLayout>
      <Title order={1} size="h2">
        {t('invitation.title')}
      </Title>
      <Text size="sm">{t('invitation.byProvider', { name })}</Text>
      <ProviderButton name={name} isOnly />
    </EntryLayout>
  );
}
