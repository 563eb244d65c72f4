import { Button, Group, Modal, PasswordInput, Stack, Text, TextInput, type ButtonProps } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation } from '@tanstack/react-query';
import { useState, type ChangeEvent, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { ProblemAlert } from './problem-alert';

interface ConfirmButtonProps extends Pick<ButtonProps, 'size' | 'variant'> {
  label: string;
  title: string;
  text: string;
  /** The user must type this name first. */
  name?: string;
  /** The user must type a code of the second factor or the password, which the action receives. */
  needs?: 'code' | 'password';
  action: (typed: string) => Promise<unknown>;
}

/** A button for a change that cannot be undone: it asks before it acts. */
export function ConfirmButton({ label, size, variant = 'outline', ...question }: ConfirmButtonProps) {
  const { t } = useTranslation();
  const [opened, { open, close }] = useDisclosure();
  return (
    <>
      <Button color="red" variant={variant} size={size} onClick={open}>
        {label}
      </Button>
      <Modal
        opened={opened}
        onClose={close}
        title={question.title}
        closeButtonProps={{ 'aria-label': t('common.close') }}
      >
        <Question {...question} label={label} close={close} />
      </Modal>
    </>
  );
}

type QuestionProps = Pick<ConfirmButtonProps, 'label' | 'text' | 'name' | 'needs' | 'action'> & {
  close: () => void;
};

function Question({ label, text, name, needs, action, close }: QuestionProps) {
  const { t } = useTranslation();
  const [typed, setTyped] = useState('');
  const attempt = useMutation({ mutationFn: () => action(typed), onSuccess: close });
  const field = {
    'data-autofocus': true,
    value: typed,
    onChange: (event: ChangeEvent<HTMLInputElement>) => setTyped(event.currentTarget.value),
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    attempt.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <Text>{text}</Text>
        {needs === 'code' && (
          <TextInput
            label={t('signIn.code')}
            description={t('signIn.codeHelp')}
            required
            autoComplete="one-time-code"
            {...field}
          />
        )}
        {needs === 'password' && (
          <PasswordInput label={t('profile.current')} required autoComplete="current-password" {...field} />
        )}
        {name !== undefined && (
          <TextInput label={t('common.typeName', { name })} autoComplete="off" {...field} />
        )}
        <ProblemAlert error={attempt.error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {t('common.cancel')}
          </Button>
          <Button
            type="submit"
            color="red"
            loading={attempt.isPending}
            disabled={name !== undefined && typed !== name}
          >
            {label}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
