/* main.c -- reads the command line and hands over: no logic. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "auth/starttoken.h"
#include "cli/cli.h"
#include "tool/process/keeper.h"

static const char HELP[] =
    "parley: one program between people and a language model.\n"
    "\n"
    "  parley serve [--config FILE] [--listen HOST:PORT] [--store URL]\n"
    "                             serve the doors and the page (default http://127.0.0.1:8000)\n"
    "  parley check [--config FILE] [--store URL]\n"
    "                             check a configuration and explain what it means\n"
    "  parley health [URL] [--config FILE] [--listen HOST:PORT]\n"
    "                             ask a running server whether it is alive, without an address the "
    "one of this\n"
    "                             configuration\n"
    "  parley approvals [URL]     list what waits for a person on a running server; on a terminal, "
    "answer it;\n"
    "                             PARLEY_KEY in the environment is the key\n"
    "  parley chat [URL] [--page NAME]\n"
    "                             talk to a running server in the terminal; from a pipe, one "
    "message per line;\n"
    "                             PARLEY_KEY in the environment is the key\n"
    "  parley models [--config FILE] [--check]\n"
    "                             list the models; --check asks each for one token\n"
    "  parley mcp [--config FILE] [--store URL] [--url URL] [--page NAME]\n"
    "                             MCP over stdin and stdout, for clients that start a program: "
    "brings it to a\n"
    "                             running server, or starts one; PARLEY_KEY in the environment is "
    "the key\n"
    "  parley tools [--config FILE]\n"
    "                             list every tool: where it comes from, its policy, its schema\n"
    "  parley tools call NAME '{...}' [--as NAME] [--claims '{...}'] [--config FILE]\n"
    "                             run one here, asking first when its policy says so\n"
    "  parley tools accept NAME [--config FILE] [--listen HOST:PORT]\n"
    "                             on a running server: a tool of an MCP server that changed is "
    "what is wanted\n"
    "  parley key [NAME [ROLE...]]\n"
    "                             make a bearer key; prints it once, and the line for the "
    "configuration\n"
    "  parley audit verify [--checkpoint FILE] [--public FILE] [--config FILE] [--store URL]\n"
    "                             compare every conversation with its hashes and the signed "
    "checkpoints, also\n"
    "                             those kept elsewhere (0: all is as it was recorded, 1: it is "
    "not, "
    "3: it could\n"
    "                             not be read, 4: something could not be looked at)\n"
    "  parley audit export [THREAD] [--config FILE] [--store URL]\n"
    "                             the record as JSON Lines, for other programs to verify\n"
    "  parley audit show THREAD [--config FILE] [--store URL]\n"
    "                             who was asked what in a conversation, who said yes, what came of "
    "it\n"
    "  parley show THREAD [STEP] [URL] [--config FILE] [--store URL] [--json]\n"
    "                             why it did that: every step of a conversation, from the store or "
    "a running\n"
    "                             server; with a number that step and the exact request to the "
    "model\n"
    "  parley people export NAME [--config FILE] [--store URL]\n"
    "                             all that is kept about a person, as JSON Lines\n"
    "  parley people erase NAME [URL]\n"
    "                             have a running server delete a person's conversations and take "
    "the "
    "name out of\n"
    "                             what stays; PARLEY_KEY is an administrator's key\n"
    "  parley backup FILE [--config FILE] [--store URL] [--anyway]\n"
    "                             copy the store to a new file, also while a server runs, and "
    "check "
    "the copy;\n"
    "                             --anyway: also when some conversations in it are damaged\n"
    "  parley restore FILE [--config FILE] [--store URL] [--anyway]\n"
    "                             put a backup in the place of the store; what was there is kept "
    "beside it;\n"
    "                             --anyway: also when some conversations in it are damaged\n"
    "  parley nodes [--config FILE] [--store URL] [--json]\n"
    "                             list the nodes that share a PostgreSQL database\n"
    "  parley move --from URL --to URL [--anew] [--anyway]\n"
    "                             copy every conversation and list into an empty store, as from\n"
    "                             sqlite:parley.db to env:PARLEY_STORE; cut off, it goes on when "
    "called again;\n"
    "                             --anew: forget what was copied; --anyway: damaged conversations, "
    "too\n"
    "  parley --version           print the version\n"
    "  parley --help              print this\n"
    "\n"
    "Without a configuration file parley.json in the working directory is used when it is\n"
    "there, else defaults: the built-in demo model, a SQLite file parley.db, the demo tools.\n"
    "docs/configuration.md explains every key. Where an address has a password, say where it "
    "stands:\n"
    "--store env:NAME or --store file:PATH, because others can see a command line.\n";

struct command_line {
    const char *name;
    int (*run)(int argc, char **argv);
};

/* A descriptor below 3 that is closed would be given to a file or a socket, and be written to in
 * the belief that it is stdout. The one for stdout is made for reading: what is printed must fail,
 * not vanish. */
static void fill_standard(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0) (void)!open("/dev/null", fd == 2 ? O_WRONLY : O_RDONLY);
}

/* A file that reaches the limit of its size (ulimit -f) is a full disk, which everybody who writes
 * knows, and no reason to die. Tools are started with what signals do by themselves. */
static void outlive_full_files(void)
{
    signal(SIGXFSZ, SIG_IGN);
}

static bool asks_for_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int run(const struct command_line *c, int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (asks_for_help(argv[i])) {
            fputs(HELP, stdout);
            return 0;
        }
    return c->run(argc, argv);
}

static int choose(int argc, char **argv)
{
    static const struct command_line COMMANDS[] = {
        { "serve", cli_serve },         { "check", cli_check },   { "health", cli_health },
        { "models", cli_models },       { "tools", cli_tools },   { "key", cli_key },
        { "approvals", cli_approvals }, { "backup", cli_backup }, { "restore", cli_restore },
        { "nodes", cli_nodes },         { "move", cli_move },     { "mcp", cli_mcp },
        { "chat", cli_chat },           { "audit", cli_audit },   { "people", cli_people },
        { "show", cli_show },
    };
    const char *name = argc > 1 ? argv[1] : "--help";
    for (size_t i = 0; i < sizeof COMMANDS / sizeof COMMANDS[0]; i++)
        if (strcmp(name, COMMANDS[i].name) == 0) return run(&COMMANDS[i], argc - 2, argv + 2);
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        printf("parley %s\n", PARLEY_VERSION);
        return 0;
    }
    if (asks_for_help(name) || strcmp(name, "help") == 0) {
        fputs(HELP, stdout);
        return 0;
    }
    cli_fail("there is no command \"%s\"; parley --help lists them.", name);
    return 2;
}

/* A key that was printed to a full disk is lost, and whoever asked for it must know. */
static int flushed(int status)
{
    bool failed = ferror(stdout) != 0;
    errno = 0;
    if (fflush(stdout) == 0 && !failed) return status;
    fprintf(stderr, "parley: the output could not be written%s%s; it is lost.\n", errno ? ": " : "",
            errno ? strerror(errno) : "");
    return status ? status : 1;
}

int main(int argc, char **argv)
{
    /* the helper that starts tools; see tool/process/keeper.h */
    if (keeper_is(argc, argv)) return keeper_main(argc, argv);
    fill_standard();
    outlive_full_files();
    start_token_hide();
    return flushed(choose(argc, argv));
}
